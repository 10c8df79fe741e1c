// What stands around the pages: sign-in, navigation, what goes wrong.

export const SHELL = {
  "title": { en: "Cloud Console", zh: "云控制台" },
  "panel.loading": { en: "Loading…", zh: "正在加载…" },
  "panel.retry": { en: "Try again", zh: "重试" },
  "problem.unreachable": { en: "The console cannot be reached. Check the connection.", zh: "无法连接控制台，请检查网络。" },
  "problem.strange": { en: "The console gave an answer that makes no sense ({code}).", zh: "控制台的回应无法理解（{code}）。" },
  "problem.quote": { en: "Should you ask for help, quote {id}.", zh: "如需帮助，请提供编号 {id}。" },
  "problem.wait": { en: "in {seconds} s", zh: "{seconds} 秒后" },
};

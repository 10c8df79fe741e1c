// What stands around the pages: sign-in, navigation, what goes wrong.

export const SHELL = {
  "title": { en: "Cloud Console", zh: "云控制台" },
  "title.of": { en: "{page} · Cloud Console", zh: "{page} · 云控制台" },

  "nav.label": { en: "Pages", zh: "页面导航" },
  "nav.overview": { en: "Overview", zh: "概览" },
  "nav.flavors": { en: "Flavors", zh: "主机配置" },
  "nav.domain": { en: "Domain", zh: "加速域名" },

  "shell.skip": { en: "Skip to the content", zh: "跳到主要内容" },
  "shell.menu": { en: "Menu", zh: "菜单" },
  "shell.account": { en: "Signed in as", zh: "当前账户" },
  "shell.language": { en: "Language", zh: "语言" },
  "shell.theme": { en: "Theme", zh: "主题" },
  "theme.system": { en: "System", zh: "跟随系统" },
  "theme.light": { en: "Light", zh: "浅色" },
  "theme.dark": { en: "Dark", zh: "深色" },
  "shell.programs": { en: "For programs:", zh: "开发者：" },
  "shell.reference": { en: "reference of the interface", zh: "接口文档（英文）" },
  "shell.openapi": { en: "OpenAPI", zh: "OpenAPI" },

  "missing.title": { en: "No such page", zh: "页面不存在" },
  "missing.text": { en: "There is nothing at this address.", zh: "此地址没有对应的页面。" },
  "missing.home": { en: "Go to the overview", zh: "返回概览" },

  "signin.title": { en: "Sign in", zh: "登录" },
  "signin.ended": {
    en: "Your session has ended. Sign in again to go on.",
    zh: "登录已失效，请重新登录后继续。",
  },
  "signin.username": { en: "Username", zh: "用户名" },
  "signin.password": { en: "Password", zh: "密码" },
  "signin.show": { en: "Show", zh: "显示" },
  "signin.hide": { en: "Hide", zh: "隐藏" },
  "signin.show.password": { en: "Show password", zh: "显示密码" },
  "signin.hide.password": { en: "Hide password", zh: "隐藏密码" },
  "signin.region": { en: "Region", zh: "区域" },
  "signin.region.choose": { en: "Choose…", zh: "请选择…" },
  "signin.send": { en: "Sign in", zh: "登录" },
  "signin.sending": { en: "Signing in…", zh: "正在登录…" },
  "signin.username.missing": { en: "Enter your username.", zh: "请输入用户名。" },
  "signin.password.missing": { en: "Enter your password.", zh: "请输入密码。" },
  "signin.region.missing": { en: "Choose a region.", zh: "请选择区域。" },
  "signout": { en: "Sign out", zh: "退出登录" },

  "panel.loading": { en: "Loading…", zh: "正在加载…" },
  "panel.retry": { en: "Try again", zh: "重试" },
  "problem.unreachable": {
    en: "The console cannot be reached. Check the connection.",
    zh: "无法连接控制台，请检查网络。",
  },
  "problem.strange": {
    en: "The console's answer could not be understood ({code}). Try again in a while.",
    zh: "无法识别控制台的响应（{code}），请稍后重试。",
  },
  "problem.cookies": {
    en: "This browser does not keep the console's cookies. Allow them to sign in.",
    zh: "浏览器未保存控制台的 Cookie，请允许后再登录。",
  },
  "problem.quote": { en: "Should you ask for help, quote {id}.", zh: "如需帮助，请提供编号 {id}。" },
  "problem.wait": { en: "Possible again in {seconds} s.", zh: "{seconds} 秒后可重试。" },
};

// Messages of the shell: navigation, sign-in, errors.

export const SHELL = {
  "title": { en: "Cloud Console", zh: "云控制台" },
  "title.page": { en: "{page} · Cloud Console", zh: "{page} · 云控制台" },

  "nav.label": { en: "Main", zh: "页面导航" },
  "nav.overview": { en: "Overview", zh: "概览" },
  "nav.costs": { en: "Costs", zh: "费用" },
  "nav.flavors": { en: "Flavors", zh: "主机配置" },
  "nav.domain": { en: "Domains", zh: "加速域名" },

  "shell.skip": { en: "Skip to main content", zh: "跳到主要内容" },
  "shell.menu": { en: "Account", zh: "账户" },
  "shell.account": { en: "Signed in as", zh: "当前账户" },
  "shell.language": { en: "Language", zh: "语言" },
  "shell.theme": { en: "Theme", zh: "主题" },
  "theme.system": { en: "System", zh: "跟随系统" },
  "theme.light": { en: "Light", zh: "浅色" },
  "theme.dark": { en: "Dark", zh: "深色" },
  "footer.developers": { en: "For developers:", zh: "开发者：" },
  "footer.reference": { en: "API reference", zh: "接口文档（英文）" },
  "footer.account": { en: "Account {username}, region {region}", zh: "账户 {username}，区域 {region}" },
  "footer.printed": { en: "Printed at {time}", zh: "打印于 {time}" },
  "footer.openapi": { en: "OpenAPI", zh: "OpenAPI" },

  "not_found.title": { en: "Page not found", zh: "页面不存在" },
  "not_found.text": { en: "There is no page at this address.", zh: "此地址没有对应的页面。" },
  "not_found.home": { en: "Go to the overview", zh: "返回概览" },

  "signin.title": { en: "Sign in", zh: "登录" },
  "signin.ended": {
    en: "Your session has ended. Sign in again to continue.",
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
  "signin.submit": { en: "Sign in", zh: "登录" },
  "signin.submitting": { en: "Signing in…", zh: "正在登录…" },
  "signin.username.missing": { en: "Enter your username.", zh: "请输入用户名。" },
  "signin.password.missing": { en: "Enter your password.", zh: "请输入密码。" },
  "signin.region.missing": { en: "Choose a region.", zh: "请选择区域。" },
  "signout": { en: "Sign out", zh: "退出登录" },

  "banner.label": { en: "Important announcements", zh: "重要公告" },
  "banner.dismiss": { en: "Dismiss: {title}", zh: "关闭：{title}" },
  "banner.dismiss.title": { en: "Dismiss", zh: "关闭" },
  "banner.dismissed": { en: "Announcement dismissed.", zh: "公告已关闭。" },

  "panel.loading": { en: "Loading…", zh: "正在加载…" },
  "panel.as_of": { en: "As of {time}", zh: "截至 {time}" },
  "panel.not_loaded": { en: "Not loaded", zh: "未加载" },
  "panel.retry": { en: "Try again", zh: "重试" },
  "error.unreachable": {
    en: "The console cannot be reached. Check your connection.",
    zh: "无法连接控制台，请检查网络。",
  },
  "error.invalid_response": {
    en: "The console returned an unexpected response ({code}). Try again later.",
    zh: "无法识别控制台的响应（{code}），请稍后重试。",
  },
  "error.unavailable": {
    en: "The console is not available at the moment ({code}). Try again later.",
    zh: "控制台暂时不可用（{code}），请稍后重试。",
  },
  "error.too_many_logins": { en: "Too many failed sign-ins.", zh: "登录失败次数过多。" },
  "error.cookies": {
    en: "This browser does not save the console's cookies. Allow cookies to sign in.",
    zh: "浏览器未保存控制台的 Cookie，请允许后再登录。",
  },
  "error.request_id": { en: "If you contact support, quote request ID {id}.", zh: "如需帮助，请提供编号 {id}。" },
  "error.retry_in": { en: "You can try again in {seconds} s.", zh: "{seconds} 秒后可重试。" },
};

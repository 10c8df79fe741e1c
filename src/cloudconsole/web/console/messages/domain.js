// Messages of the domain page.

export const DOMAIN = {
  "domain.id": { en: "Domain ID", zh: "域名 ID" },
  "domain.id.hint": {
    en: "The number your provider assigned to the domain, for example 206813.",
    zh: "服务商为该域名分配的编号，例如 206813。",
  },
  "domain.id.missing": { en: "Enter a domain ID.", zh: "请先输入域名 ID。" },
  "domain.lookup": { en: "Look up", zh: "查询" },
  "domain.not_found": {
    en: "You have no domain with ID {id}. Check the ID and try again.",
    zh: "您没有 ID 为 {id} 的域名，请核对后重试。",
  },
  "domain.found": { en: "Domain found: {name}", zh: "已找到：{name}" },
  "domain.recent": { en: "Recent lookups:", zh: "最近查询：" },
  "domain.none": { en: "None", zh: "无" },
  "domain.yes": { en: "Yes", zh: "是" },
  "domain.no": { en: "No", zh: "否" },
  "tree.empty": { en: "Empty string", zh: "空文本" },
  "tree.item": { en: "Item {number}", zh: "第 {number} 项" },

  "domain.general": { en: "General", zh: "域名信息" },
  "domain.origin": { en: "Origin", zh: "源站" },
  "domain.cname": { en: "CNAME", zh: "CNAME" },
  "domain.cname.help": {
    en: "To activate acceleration, add a CNAME record for {name} at your DNS provider that points to this name.",
    zh: "请在您的 DNS 服务商处，为 {name} 添加指向此名称的 CNAME 记录，加速随即生效。",
  },
  "domain.domainId": { en: "Domain ID", zh: "域名 ID" },
  "domain.domainId.help": { en: "The number used to look up the domain.", zh: "查询该域名所用的编号。" },
  "domain.domainName": { en: "Domain name", zh: "域名" },
  "domain.domainName.help": { en: "The accelerated name that visitors use.", zh: "访问者使用的、被加速的域名。" },
  "domain.enabled": { en: "Enabled", zh: "已启用" },
  "domain.enabled.help": { en: "Whether acceleration is turned on for the domain.", zh: "该域名的加速服务是否开启。" },
  "domain.status": { en: "Deployment status", zh: "部署状态" },
  "domain.status.help": {
    en: "How far the configuration has been deployed, in the provider's terms.",
    zh: "配置的部署进度，以服务商的用语表示。",
  },
  "domain.serviceType": { en: "Service type", zh: "服务类型" },
  "domain.serviceType.help": {
    en: "The type of content that is accelerated, in the provider's terms.",
    zh: "加速的内容类型，以服务商的用语表示。",
  },
  "domain.serviceAreas": { en: "Service areas", zh: "加速区域" },
  "domain.serviceAreas.help": {
    en: "The areas where visitors are served, as provider codes.",
    zh: "提供加速服务的区域，以服务商的代码表示。",
  },
  "domain.comment": { en: "Comment", zh: "备注" },
  "domain.comment.help": { en: "A note about the domain. It does not affect the service.", zh: "关于该域名的说明，不影响服务。" },
  "domain.originIps": { en: "Origin IP addresses", zh: "源站 IP" },
  "domain.originIps.help": {
    en: "The IP addresses of the servers that content is fetched from.",
    zh: "获取内容的源站服务器的 IP 地址。",
  },
  "domain.originDomainName": { en: "Origin domain", zh: "源站域名" },
  "domain.originDomainName.help": {
    en: "The domain that content is fetched from, if the origin is set by name.",
    zh: "以域名回源时的源站域名。",
  },
  "domain.queryStringSettings": { en: "Query string settings", zh: "查询字符串设置" },
  "domain.queryStringSettings.help": {
    en: "How the part of a URL after the question mark is handled.",
    zh: "地址中问号之后部分的处理方式。",
  },
  "domain.advOriginConfigs": { en: "Advanced origin settings", zh: "高级回源配置" },
  "domain.advOriginConfigs.help": { en: "Special rules for where content is fetched from.", zh: "关于从何处获取内容的特别规则。" },
  "domain.cacheBehaviors": { en: "Cache behaviors", zh: "缓存行为" },
  "domain.cacheBehaviors.help": { en: "What is cached, and for how long.", zh: "哪些内容被缓存，以及缓存多久。" },
  "domain.visitControlRules": { en: "Access control rules", zh: "访问控制规则" },
  "domain.visitControlRules.help": { en: "Which requests are allowed, and which are denied.", zh: "哪些访问被允许，哪些被拒绝。" },
};

// The texts of the page of a domain.

export const DOMAIN = {
  "domain.id.ask": { en: "Domain id", zh: "域名 ID" },
  "domain.id.hint": {
    en: "The number that your provider has given the domain, such as 206813.",
    zh: "服务商为该域名分配的编号，例如 206813。",
  },
  "domain.look_up": { en: "Look up", zh: "查询" },
  "domain.empty": { en: "Type the id of a domain first.", zh: "请先输入域名 ID。" },
  "domain.not_found": {
    en: "You have no domain with the id {id}. Check it and try again.",
    zh: "您没有 ID 为 {id} 的域名，请核对后重试。",
  },
  "domain.found": { en: "Found: {name}", zh: "已找到：{name}" },
  "domain.recent": { en: "Looked up before:", zh: "最近查询：" },
  "domain.none": { en: "none", zh: "无" },
  "domain.yes": { en: "Yes", zh: "是" },
  "domain.no": { en: "No", zh: "否" },
  "tree.empty": { en: "empty text", zh: "空文本" },
  "tree.nth": { en: "No. {n}", zh: "第 {n} 项" },

  "domain.about": { en: "The domain", zh: "域名信息" },
  "domain.origin": { en: "Origin", zh: "源站" },
  "domain.cname": { en: "CNAME", zh: "CNAME" },
  "domain.cname.do": {
    en: "At your DNS provider, give {name} a CNAME record that points to this name; then acceleration takes effect.",
    zh: "请在您的 DNS 服务商处，为 {name} 添加指向此名称的 CNAME 记录，加速随即生效。",
  },
  "domain.domainId": { en: "Domain id", zh: "域名 ID" },
  "domain.domainId.means": { en: "The number that the domain is looked up by.", zh: "查询该域名所用的编号。" },
  "domain.domainName": { en: "Domain name", zh: "域名" },
  "domain.domainName.means": { en: "The name that visitors use, and that is accelerated.", zh: "访问者使用的、被加速的域名。" },
  "domain.enabled": { en: "Enabled", zh: "已启用" },
  "domain.enabled.means": { en: "Whether acceleration is switched on for the domain.", zh: "该域名的加速服务是否开启。" },
  "domain.status": { en: "Deployment status", zh: "部署状态" },
  "domain.status.means": {
    en: "How far the configuration has been put into effect, in the provider's words.",
    zh: "配置的部署进度，以服务商的用语表示。",
  },
  "domain.serviceType": { en: "Service type", zh: "服务类型" },
  "domain.serviceType.means": {
    en: "What kind of content is accelerated, in the provider's words.",
    zh: "加速的内容类型，以服务商的用语表示。",
  },
  "domain.serviceAreas": { en: "Service areas", zh: "加速区域" },
  "domain.serviceAreas.means": {
    en: "The provider's codes of the areas that visitors are served in.",
    zh: "提供加速服务的区域，以服务商的代码表示。",
  },
  "domain.comment": { en: "Remark", zh: "备注" },
  "domain.comment.means": { en: "A note about the domain; it changes nothing.", zh: "关于该域名的说明，不影响服务。" },
  "domain.originIps": { en: "Origin addresses", zh: "源站 IP" },
  "domain.originIps.means": {
    en: "IP addresses of the servers that the content is fetched from.",
    zh: "获取内容的源站服务器的 IP 地址。",
  },
  "domain.originDomainName": { en: "Origin domain", zh: "源站域名" },
  "domain.originDomainName.means": {
    en: "The name that the content is fetched from, if it is by name.",
    zh: "以域名回源时的源站域名。",
  },
  "domain.queryStringSettings": { en: "Query strings", zh: "查询字符串设置" },
  "domain.queryStringSettings.means": {
    en: "What becomes of the part of an address behind the question mark.",
    zh: "地址中问号之后部分的处理方式。",
  },
  "domain.advOriginConfigs": { en: "Advanced origin", zh: "高级回源配置" },
  "domain.advOriginConfigs.means": { en: "Special rules for where content is fetched from.", zh: "关于从何处获取内容的特别规则。" },
  "domain.cacheBehaviors": { en: "Cache behaviours", zh: "缓存行为" },
  "domain.cacheBehaviors.means": { en: "What is kept near visitors, and for how long.", zh: "哪些内容被缓存，以及缓存多久。" },
  "domain.visitControlRules": { en: "Access rules", zh: "访问控制规则" },
  "domain.visitControlRules.means": { en: "Who may fetch content, and who may not.", zh: "哪些访问被允许，哪些被拒绝。" },
};

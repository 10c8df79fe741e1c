// Messages of JSON text areas in both languages; the syntax errors are those of the server.

const MESSAGES = {
  "format": { en: "Format", zh: "格式化" },
  "must_be_list": { en: "Must be a list", zh: "必须是列表" },
  "position": { en: "Line {line}, column {column}: {problem}", zh: "第 {line} 行第 {column} 列：{problem}" },
  "comma": { en: "expecting ',' delimiter", zh: "缺少逗号" },
  "colon": { en: "expecting ':' delimiter", zh: "缺少冒号" },
  "property": { en: "expecting property name enclosed in double quotes", zh: "缺少双引号括起的属性名" },
  "value": { en: "expecting value", zh: "缺少值" },
  "extra": { en: "extra data", zh: "有多余内容" },
  "escape": { en: "invalid \\escape", zh: "转义符无效" },
  "unicode_escape": { en: "invalid \\uXXXX escape", zh: "\\uXXXX 转义无效" },
  "control": { en: "invalid control character", zh: "包含控制字符" },
  "unterminated": { en: "unterminated string starting", zh: "字符串未结束" },
  "too_deep": { en: "nested too deep", zh: "嵌套过深" },
};

export function t(key, values = {}) {
  const message = MESSAGES[key][document.documentElement.lang === "zh" ? "zh" : "en"];
  return message.replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
}

// Messages of lists that are shown in batches.

export const LIST = {
  "list.shown": { en: "Showing {count} of {total}.", zh: "已显示 {total} 个中的 {count} 个。" },
  "list.more": { en: "Show {count} more", zh: "再显示 {count} 个" },
};

// The texts of a page.

export const DOMAIN = {};

// Show the date of a news preview as the tenant console does (console/core/time.js, which loads its messages, too).
// The time is in the console's time zone already.

const language = document.documentElement.lang;
const locale = navigator.languages.find((tag) => tag.toLowerCase().split("-")[0] === language) ?? language;
const format = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeZone: "UTC" });

for (const time of document.querySelectorAll(".news-preview time")) {
  time.title = time.textContent;
  time.textContent = format.format(new Date(`${time.dateTime}Z`));
}

// @ts-check
// Times, sizes and paths in words.

/** @param {number | null | undefined} ms */
export function duration(ms) {
  if (ms === undefined || ms === null) return "";
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** @param {string | null | undefined} time */
export function ago(time) {
  const seconds = (Date.now() - Date.parse(time ?? "")) / 1000;
  if (Number.isNaN(seconds)) return "";
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return new Date(time ?? "").toLocaleDateString(undefined, { day: "numeric", month: "short", year: "numeric" });
}

/** The day of a time, as a heading of a list. @param {string | undefined} time */
export function dayName(time) {
  const date = new Date(time ?? "");
  if (Number.isNaN(date.getTime())) return "Without a date";
  const days = Math.round((startOfDay(new Date()) - startOfDay(date)) / 86_400_000);
  if (days === 0) return "Today";
  if (days === 1) return "Yesterday";
  return date.toLocaleDateString(undefined, { weekday: "long", day: "numeric", month: "long", year: "numeric" });
}

/** @param {Date} date */
function startOfDay(date) {
  return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
}

/** @param {number | null | undefined} count */
export function short(count) {
  if (count === undefined || count === null) return "";
  if (count < 1000) return String(count);
  if (count < 1e6) return `${(count / 1e3).toFixed(count < 1e4 ? 1 : 0)}k`;
  if (count < 1e9) return `${(count / 1e6).toFixed(count < 1e7 ? 1 : 0)}M`;
  return `${(count / 1e9).toFixed(1)}G`;
}

/** @param {number | undefined} dollars @param {string} [basis] */
export function cost(dollars, basis) {
  if (dollars === undefined) return "";
  const text = dollars > 0 && dollars < 0.01 ? "<$0.01" : `$${dollars.toFixed(2)}`;
  return basis && basis !== "reported" ? `~${text}` : text;
}

/** The last two directories of a path. @param {string | null | undefined} path */
export function shortPath(path) {
  const parts = (path ?? "").split("/").filter(Boolean);
  return parts.length > 2 ? `…/${parts.slice(-2).join("/")}` : (path ?? "");
}

/** @param {number} count @param {string} noun */
export function counted(count, noun) {
  return `${count.toLocaleString()} ${noun}${count === 1 ? "" : "s"}`;
}

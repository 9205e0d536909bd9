/** Numbers in sentences. */

/** `1 call`, `2 calls`. */
export function countOf(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
}

/** Bytes as people say them. */
export function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`
  return bytes < 1024 * 1024
    ? `${Math.round(bytes / 1024)} KiB`
    : `${(bytes / 1024 / 1024).toFixed(1)} MiB`
}

/** How long ago, roughly. */
export function sinceOf(iso: string, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(iso)) / 1000))
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  return seconds < 172_800
    ? `${Math.round(seconds / 3600)} h`
    : `${Math.round(seconds / 86_400)} days`
}

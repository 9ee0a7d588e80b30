/** Where a warning is explained. @param section of the page */
export function seeGuide(section: string): string {
  return ` See docs/who-is-counted.md#${section}.`
}

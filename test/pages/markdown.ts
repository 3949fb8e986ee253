/**
 * What a Markdown renderer takes for an HTML tag and does not show, such as `<name>` outside of code.
 *
 * @param text a page, or a description that is shown as one
 */
export function hiddenTags(text: string): string[] {
  const shown = text
    .replaceAll(/^ *```[\s\S]*?^ *```/gm, '')
    .replaceAll(/`[^`]*`/g, '')
    .replaceAll(/<!--[\s\S]*?-->/g, '')
  return shown.match(/<\/?[a-zA-Z][^<>\n]*>/g) ?? []
}

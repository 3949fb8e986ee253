/** Texts as the `data` of a Secret holds them. */
export function secretData(texts: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(texts).map(([key, text]) => [key, Buffer.from(text, 'utf8').toString('base64')])
  return Object.fromEntries(entries) as Record<string, string>
}

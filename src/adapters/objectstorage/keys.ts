/** Characters that XML cannot carry: a list may report such a key as another one, and no request body can name it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what XML cannot carry
const XML_UNSAFE = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffd-\uffff]/
export const isXmlSafeKey = (key: string | undefined): key is string =>
  key !== undefined && key.trim() !== '' && key.isWellFormed() && !XML_UNSAFE.test(key)

/** Decodes a key from a list requested with `EncodingType: url`, which not every store honours. */
export function decodeListedKey(key: string | undefined, encoding: string | undefined): string | undefined {
  if (encoding !== 'url' || key === undefined) return key
  const bytes = key
    .replaceAll('+', ' ')
    .replace(/%([0-9A-Fa-f]{2})|[^\0-\x7f]+/g, (all, hex?: string) =>
      hex === undefined ? Buffer.from(all).toString('latin1') : String.fromCharCode(Number.parseInt(hex, 16)),
    )
  return Buffer.from(bytes, 'latin1').toString()
}

import type { KubeObject } from './object.ts'

declare const ENCODED: unique symbol
/** A text in base64. It is a type of its own, so that no text is encoded twice, or read without being decoded. */
export type Base64 = string & { readonly [ENCODED]: true }

/** The entries of a Secret by key, as in its `data`. */
export type SecretData = Readonly<Record<string, Base64>>
/** The entries of a Secret by key, decoded. */
export type SecretTexts = Readonly<Record<string, string>>

export type SecretObject = KubeObject & { data?: SecretData }

/** Encodes texts for the `data` of a Secret. */
export function secretData(texts: SecretTexts): SecretData {
  const entries = Object.entries(texts).map(([key, text]) => [key, Buffer.from(text, 'utf8').toString('base64')])
  return Object.fromEntries(entries) as SecretData
}

/** Decodes every entry; the inverse of `secretData`. */
export function secretTexts(data: SecretData = {}): Record<string, string> {
  const entries = Object.keys(data).map((key) => [key, secretText(data, key)])
  return Object.fromEntries(entries) as Record<string, string>
}

/** Decodes one entry; undefined if it is absent. */
export function secretText(data: SecretData | undefined, key: string): string | undefined {
  const encoded = data?.[key]
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('utf8')
}

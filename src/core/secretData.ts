import type { KubeObject } from './object.ts'

/** The entries of a Secret by key: base64 as in `data`, or plain texts. */
export type SecretData = Readonly<Record<string, string>>

export type SecretObject = KubeObject & { data?: Record<string, string> }

/** Encodes texts for the `data` of a Secret. */
export function secretData(texts: SecretData): Record<string, string> {
  const entries = Object.entries(texts).map(([key, text]) => [key, Buffer.from(text, 'utf8').toString('base64')])
  return Object.fromEntries(entries) as Record<string, string>
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

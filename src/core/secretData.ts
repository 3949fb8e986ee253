import type { KubeObject } from './object.ts'

/** What a Secret holds: texts in base64, by their entries. */
export type SecretData = Readonly<Record<string, string>>

export type SecretObject = KubeObject & { data?: Record<string, string> }

/** Texts as the `data` of a Secret holds them. */
export function secretData(texts: SecretData): Record<string, string> {
  const entries = Object.entries(texts).map(([key, text]) => [key, Buffer.from(text, 'utf8').toString('base64')])
  return Object.fromEntries(entries) as Record<string, string>
}

/** The inverse: every entry as text. */
export function secretTexts(data: SecretData = {}): Record<string, string> {
  const entries = Object.keys(data).map((key) => [key, secretText(data, key)])
  return Object.fromEntries(entries) as Record<string, string>
}

/** One entry as text; undefined if there is none. */
export function secretText(data: SecretData | undefined, key: string): string | undefined {
  const encoded = data?.[key]
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString('utf8')
}

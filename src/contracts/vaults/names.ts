import { childName, sha256 } from '../../core/names.ts'

/**
 * How the parts of a secret vault are called. The facade writes values, the controller re-wraps and removes them: both
 * find them by these names, and nobody else may guess them.
 */

/** RE2, for the schema too (records: secret vaults). Names differ without regard to case. */
export const SECRET_NAME_PATTERN = '^[A-Za-z0-9][A-Za-z0-9-]{0,126}$'
export const SECRET_NAMING = 'must have 1 to 127 letters, digits and hyphens and begin with a letter or digit'
const SECRET_NAME = new RegExp(SECRET_NAME_PATTERN)

export function isSecretName(text: string): boolean {
  return SECRET_NAME.test(text)
}

const HASH_LENGTH = 20

/** The name of the object of a secret: one for all spellings of its name. */
export function entryName(vault: string, secret: string): string {
  return `${vault}-${sha256(secret.toLowerCase()).slice(0, HASH_LENGTH)}`
}

/** The vault of an object of that form; undefined for any other name. */
export function vaultOfEntry(name: string): string | undefined {
  return /^(.+)-[0-9a-f]{20}$/.exec(name)?.[1]
}

/** Words before the names of Secrets that hold wrapped keys and values: no other Secret of ours begins so. */
export const VALUE_PREFIX = 'vent-'

/** On Secrets of an entry: which of its lives they belong to. */
export const LIFE_LABEL = 'freehold.dev/life'

/** The Secrets of one life of an entry. A life ends with a purge, so that what comes later shares no name with it. */
export type ValueNames = {
  /** Value of the owner's label: the same for all lives. */
  owner: string
  /** The wrapped data key. */
  key: string
  version: (number: number) => string
}

export function valueNames(entry: string, life: number): ValueNames {
  const owner = childName('vent', entry)
  return { owner, key: `${owner}-${life}-key`, version: (number) => `${owner}-${life}-v${number}` }
}

/** What a wrapped key or an encrypted value is bound to: it opens in its own place only. */
export function keyContext(namespace: string, entry: string, life: number): string {
  return `${namespace}/${entry}/${life}`
}

export function valueContext(namespace: string, entry: string, life: number, version: number): string {
  return `${keyContext(namespace, entry, life)}/${version}`
}

/** Where a vault and a secret are found by the vault's name alone. */
export function vaultUri(baseUrl: string, vault: string): string {
  return `${baseUrl}/vaults/${vault}`
}

export function secretUri(baseUrl: string, vault: string, secret: string): string {
  return `${vaultUri(baseUrl, vault)}/secrets/${secret}`
}

import { childName, sha256 } from '../../core/names.ts'

/**
 * Names of the parts of a secret vault. The facade writes values, the controller re-wraps and removes them. Both find
 * them by these names, and no other code may guess them.
 */

/** In RE2, for the schema too (records: secret vaults). Names must differ in more than case. */
export const SECRET_NAME_PATTERN = '^[A-Za-z0-9][A-Za-z0-9-]{0,126}$'
export const SECRET_NAMING = 'must have 1 to 127 letters, digits and hyphens and begin with a letter or digit'
const SECRET_NAME = new RegExp(SECRET_NAME_PATTERN)

export function isSecretName(text: string): boolean {
  return SECRET_NAME.test(text)
}

const HASH_LENGTH = 20

/** Name of the object of a secret; the same for all spellings of the secret's name. */
export function entryName(vault: string, secret: string): string {
  return `${vault}-${sha256(secret.toLowerCase()).slice(0, HASH_LENGTH)}`
}

/** Returns the vault of an object with such a name; undefined for any other name. */
export function vaultOfEntry(name: string): string | undefined {
  return /^(.+)-[0-9a-f]{20}$/.exec(name)?.[1]
}

/** Label on Secrets of an entry: the life that they belong to. */
export const LIFE_LABEL = 'freehold.dev/life'

/** Names of the Secrets of one life of an entry. A life ends with a purge, so that later Secrets never share a name. */
export type ValueNames = {
  /** Value of the owner's label; the same for all lives. */
  owner: string
  /** The wrapped data key. */
  key: string
  version: (number: number) => string
}

export function valueNames(entry: string, life: number): ValueNames {
  const owner = childName('vent', entry)
  return { owner, key: `${owner}-${life}-key`, version: (number) => `${owner}-${life}-v${number}` }
}

/** Returns what a wrapped key or an encrypted value is bound to: it opens only in its own place. */
export function keyContext(namespace: string, entry: string, life: number): string {
  return `${namespace}/${entry}/${life}`
}

export function valueContext(namespace: string, entry: string, life: number, version: number): string {
  return `${keyContext(namespace, entry, life)}/${version}`
}

/** Addresses of a vault and of a secret, which contain no more of their place than the vault's name. */
export function vaultUri(baseUrl: string, vault: string): string {
  return `${baseUrl}/vaults/${vault}`
}

export function secretUri(baseUrl: string, vault: string, secret: string): string {
  return `${vaultUri(baseUrl, vault)}/secrets/${secret}`
}

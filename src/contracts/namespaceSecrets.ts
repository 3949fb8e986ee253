import type { ActionName } from '../core/actions.ts'
import {
  actionOfOutput,
  isSecretOutput,
  OUTPUT_COLLECTIONS,
  OUTPUTS,
  type OutputCollection,
  type ValueReferences,
} from './references.ts'

/**
 * The secrets of functions and their namespaces, and which of them the code of the other may be given:
 * docs/adr/20261128-functions-say-which-secrets.md.
 * `<collection>/<name>` is one resource, `<collection>` every resource of the group.
 */

export const IDENTITIES = 'managedidentities'
const VAULTS = 'secretvaults'

const hasSecrets = (collection: OutputCollection) => OUTPUTS[collection].secret.length > 0

/** The action that a caller needs to let code read the secrets of a collection. */
export const ACTIONS_OF_SECRETS: ReadonlyMap<string, ActionName> = new Map<string, ActionName>([
  [IDENTITIES, 'managedidentities/readSecrets'],
  [VAULTS, 'secretvault/readSecrets'],
  ...OUTPUT_COLLECTIONS.filter(hasSecrets).map((collection) => {
    const [output = ''] = OUTPUTS[collection].secret
    return [collection, actionOfOutput({ collection, name: '', output })] as const
  }),
])

type NamespaceReferences = Pick<ValueReferences, 'managedIdentity'> & {
  env?: NonNullable<ValueReferences['components']>[number]['env']
}

/** Returns the secrets that these settings give to code. Addresses of other resources are not secret. */
export function secretsGivenTo({ env = [], managedIdentity = false }: NamespaceReferences): string[] {
  const given = env.flatMap(({ secret, output }) => {
    if (secret) return [`${VAULTS}/${secret.vaultName}`]
    return output && isSecretOutput(output) ? [`${output.collection}/${output.name}`] : []
  })
  return [...new Set([...(managedIdentity ? [IDENTITIES] : []), ...given])]
}

export const collectionOf = (secret: string) => secret.replace(/\/.*$/, '')

/** Returns the secrets that `allowed` covers. */
export function filterAllowedSecrets(secrets: readonly string[], allowed: readonly string[]): string[] {
  return secrets.filter((secret) => allowed.includes(secret) || allowed.includes(collectionOf(secret)))
}

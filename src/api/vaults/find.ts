import { isEntryVisible, readRefusal } from '../../contracts/vaults/history.ts'
import { entryName, isSecretName } from '../../contracts/vaults/names.ts'
import { notFound, PlatformError } from '../../core/errors.ts'
import { claimName } from '../../core/nameClaims.ts'
import { boundaryOfNamespace, groupNamespace, isResourceName } from '../../core/names.ts'
import { NameClaim } from '../../crds/nameclaims.ts'
import { ResourceGroup } from '../../crds/resourcegroups.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import { resourceScope } from '../callers/visibility.ts'
import type { Context, Services } from '../http/context.ts'
import { findResource } from '../resources/find.ts'
import type { EntryRecord, VaultRecord } from './record.ts'

export const SECRETS_PATH = '{RG}/secretvaults/{resourceName}/secrets'
export const SECRET_PATH = '{RG}/secretvaults/{resourceName}/secrets/{secretName}'

export type VaultContext = Context<'boundaryId' | 'resourceGroupName' | 'resourceName'>
export type SecretContext = Context<'boundaryId' | 'resourceGroupName' | 'resourceName' | 'secretName'>

/** @throws PlatformError NOT_FOUND */
export async function findVault(context: VaultContext): Promise<VaultRecord> {
  return (await findResource(SecretVault, context, 'resourceName')).object
}

/** Returns the object of a secret in any state; undefined if there is none. */
export async function findEntry(
  { services, fresh }: Pick<Context, 'services' | 'fresh'>,
  vault: VaultRecord,
  secretName: string,
): Promise<EntryRecord | undefined> {
  if (!isSecretName(secretName)) return undefined
  const { namespace, name } = vault.metadata
  return services.records.get(VaultEntry, { namespace, name: entryName(name, secretName) }, { fresh })
}

export function missingSecret(vaultName: string, secretName: string): PlatformError {
  return notFound(`Secret "${secretName.slice(0, 127)}" of vault "${vaultName.slice(0, 52)}"`)
}

/** Finds a secret whose existence may be known, including deleted ones. @throws PlatformError NOT_FOUND */
export async function findSecret(context: SecretContext): Promise<{ vault: VaultRecord; entry: EntryRecord }> {
  const vault = await findVault(context)
  const { secretName } = context.parameters
  const entry = await findEntry(context, vault, secretName)
  if (entry === undefined || !isEntryVisible(entry)) throw missingSecret(vault.metadata.name, secretName)
  return { vault, entry }
}

const REFUSALS = {
  Disabled: ['SECRET_DISABLED', 'is disabled'],
  NotYetValid: ['SECRET_NOT_YET_VALID', 'is not valid yet'],
  Expired: ['SECRET_EXPIRED', 'has expired'],
} as const

/** @throws PlatformError NOT_FOUND, SECRET_DISABLED, SECRET_NOT_YET_VALID, SECRET_EXPIRED */
export function refuseUnreadable(entry: EntryRecord, version: number, now: number): void {
  const refusal = readRefusal(entry, version, now)
  if (refusal === undefined) return
  const { vaultName, secretName } = entry.spec
  if (refusal === 'Missing') throw missingSecret(vaultName, secretName)
  const [code, message] = REFUSALS[refusal]
  throw new PlatformError(code, `Secret "${secretName}" of vault "${vaultName}" ${message}.`)
}

/** Returns a vault by its unique name on the platform, with its scope; undefined if there is none. */
export async function vaultByName(
  { records }: Services,
  name: string,
): Promise<{ vault: VaultRecord; scope: string } | undefined> {
  if (!isResourceName(name)) return undefined
  const holder = (await records.get(NameClaim, { name: claimName('Vault', name) }))?.spec.holder
  if (holder === undefined || holder.kind !== SecretVault.kind) return undefined
  const { namespace } = holder
  const vault = await records.get(SecretVault, { namespace, name: holder.name })
  const group = records.peekAll(ResourceGroup).find(({ metadata, status }) => {
    const boundaryId = boundaryOfNamespace(metadata.namespace ?? '')
    const namespaceOfGroup =
      status?.namespace ?? (boundaryId === undefined ? '' : groupNamespace(boundaryId, metadata.name))
    return namespaceOfGroup === namespace
  })
  const boundaryId = boundaryOfNamespace(group?.metadata.namespace ?? '')
  if (vault === undefined || group === undefined || boundaryId === undefined) return undefined
  return { vault, scope: resourceScope(boundaryId, group.metadata.name, 'secretvaults', name) }
}

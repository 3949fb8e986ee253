import { currentVersion, isLive, versionsOf } from '../../contracts/vaults/history.ts'
import { vaultUri } from '../../contracts/vaults/names.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { pagedParts } from '../resources/pages.ts'
import { findBoundary, groupsOfBoundary, viewMaker } from '../resources/places.ts'
import { resourceId } from '../resources/shape.ts'
import { secretsOf } from '../rules/protection.ts'
import {
  findEntry,
  findSecret,
  findVault,
  missingSecret,
  refuseUnreadable,
  type SecretContext,
  type VaultContext,
  vaultByName,
} from './find.ts'
import { readValue } from './keys.ts'
import {
  type AccessibleRow,
  accessibleShape,
  type EntryRecord,
  secretCount,
  secretDto,
  secretShape,
  type VaultRecord,
  versionDto,
  versionShape,
} from './record.ts'

/** Values must not stay in caches on the way. */
const NO_STORE = { 'cache-control': 'no-store' }

export async function listSecrets(context: VaultContext) {
  const vault = await findVault(context)
  const { services, list, query } = context
  const isWithDeleted = (query as { includeDeleted?: string } | undefined)?.includeDeleted === 'true'
  const entries = context.fresh ? await freshSecrets(context, vault) : secretsOf(services, vault)
  const rows = isWithDeleted ? entries : entries.filter(isLive)
  return pagedParts(rows, list, secretShape, (entry) => secretDto({ entry, vault, services }, null))
}

/** Past the cache; afterwards the cache is as new. */
async function freshSecrets({ services }: Context, vault: VaultRecord): Promise<EntryRecord[]> {
  const { namespace, name } = vault.metadata
  const all = await services.records.list(VaultEntry, { namespace }, { fresh: true })
  const known = new Set(secretsOf(services, vault).map((entry) => entry.metadata.name))
  return all.filter((entry) => entry.spec.vaultName === name && (isLive(entry) || known.has(entry.metadata.name)))
}

/** The value, with the attributes that were looked at before it was read. @throws PlatformError as refuseUnreadable */
async function currentValue(context: Context, entry: EntryRecord, version: number): Promise<string> {
  const { services } = context
  refuseUnreadable(entry, version, services.clock.now())
  const value = await readValue(services.vaults, entry, version)
  if (value !== undefined) return value
  // Purged, or dropped for newer versions, a moment ago.
  throw missingSecret(entry.spec.vaultName, entry.spec.secretName)
}

export async function readSecret(context: SecretContext) {
  const { vault, entry } = await findSecret(context)
  const value = await currentValue(context, entry, currentVersion(entry.spec))
  const dto = secretDto({ entry, vault, services: context.services }, value)
  return ok(dto, { headers: NO_STORE, etag: etagOf(entry) })
}

export async function listVersions(context: SecretContext) {
  const { entry } = await findSecret(context)
  if (!isLive(entry)) throw missingSecret(entry.spec.vaultName, entry.spec.secretName)
  const rows = versionsOf(entry.spec).map((record) => ({ entry, record }))
  return pagedParts(rows, context.list, versionShape, (row) => versionDto(row))
}

export async function readVersion(context: SecretContext) {
  const { entry } = await findSecret(context)
  const version = versionNumber((context.parameters as Record<string, string>).version)
  const value = await currentValue(context, entry, version)
  const record = versionsOf(entry.spec).find((each) => each.version === version)
  if (record === undefined) throw missingSecret(entry.spec.vaultName, entry.spec.secretName)
  return ok(versionDto({ entry, record }, value), { headers: NO_STORE, etag: etagOf(entry) })
}

/** 0, which no version has, for anything that is no number. */
function versionNumber(text: string | undefined): number {
  return text !== undefined && /^[1-9][0-9]{0,14}$/.test(text) ? Number(text) : 0
}

/** Missing and hidden are one answer: the name of a vault of others says nothing about it. */
export async function readByVaultName(context: Context<'vaultName' | 'name', { version?: number | undefined }>) {
  const { services, caller, parameters } = context
  const { vaultName, name } = parameters
  const found = vaultByName(services, vaultName)
  if (found === undefined || !services.access.isAllowed(caller.principalId, 'secretvault/readSecrets', found.scope))
    throw missingSecret(vaultName, name)
  const entry = await findEntry(context, found.vault, name)
  if (entry === undefined) throw missingSecret(vaultName, name)
  const version = context.query.version ?? currentVersion(entry.spec)
  const value = await currentValue(context, entry, version)
  const dto = secretDto({ entry, vault: found.vault, services }, value, version)
  return ok(dto, { headers: NO_STORE, etag: etagOf(entry) })
}

export async function listAccessible(context: Context<'boundaryId'>) {
  const { services, caller, parameters, list } = context
  const { boundaryId } = parameters
  await findBoundary(context, boundaryId)
  const viewOf = viewMaker<typeof SecretVault>(services, boundaryId)
  const rows: AccessibleRow[] = []
  for (const { name: group, namespace } of groupsOfBoundary(services, boundaryId)) {
    for (const object of await services.records.list(SecretVault, { namespace }, { fresh: context.fresh })) {
      const scope = `/boundaries/${boundaryId}/resourcegroups/${group}/resources/secretvaults/${object.metadata.name}`
      const may = (action: string) => services.access.isAllowed(caller.principalId, action, scope)
      const [canRead, canWrite] = [may('secretvault/readSecrets'), may('secretvault/writeSecrets')]
      if (canRead || canWrite) rows.push({ view: viewOf(object, group), canRead, canWrite })
    }
  }
  return pagedParts(rows, list, accessibleShape, ({ view, canRead, canWrite }) => ({
    id: resourceId(view as never),
    name: view.object.metadata.name,
    boundaryId,
    resourceGroup: view.resourceGroup,
    vaultUri: vaultUri(services.vaults.baseUrl, view.object.metadata.name),
    secretCount: secretCount(services, view.object),
    canRead,
    canWrite,
  }))
}

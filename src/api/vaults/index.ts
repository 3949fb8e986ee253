import { z } from 'zod'
import { currentVersion, entryVersionsOf, isEntryActive } from '../../contracts/vaults/history.ts'
import { SECRET_NAME_PATTERN, SECRET_NAMING, vaultUri } from '../../contracts/vaults/names.ts'
import { PlatformError } from '../../core/errors.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import { isAllowedNow, resourceScope } from '../callers/visibility.ts'
import { NO_STORE, ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { etagOf } from '../http/etag.ts'
import { WholeNumber } from '../http/query.ts'
import { action, checkedByHandler, dataAction, type RouteDraft, route, withKind } from '../http/route.ts'
import { listRoute } from '../resources/collection/columns.ts'
import { createViewBuilder, findBoundary, groupsOfBoundary } from '../resources/find.ts'
import { dateTime, flag, number, text } from '../resources/paging.ts'
import { resource } from '../resources/resource.ts'
import { resourceId } from '../resources/resourceShape.ts'
import { keepsSecrets, secretsOf } from '../rules/protection.ts'
import {
  findEntry,
  findSecret,
  findVault,
  missingSecret,
  refuseUnreadable,
  SECRET_PATH,
  SECRETS_PATH,
  type SecretContext,
  type VaultContext,
  vaultByName,
} from './find.ts'
import { readValue, type Vaults } from './keys.ts'
import {
  AccessibleVaultDto,
  type EntryRecord,
  SecretDto,
  SecretVersionDto,
  secretCount,
  secretDto,
  type VaultRecord,
  type VaultView,
  vaultRecord,
  versionDto,
} from './record.ts'
import { SetSecretRequest } from './requests.ts'
import { deleteSecret, purgeSecret, recoverSecret, setSecret } from './write.ts'

/** Bypasses the cache, which is up to date afterwards. */
async function freshSecrets({ services }: Context, vault: VaultRecord): Promise<EntryRecord[]> {
  const { namespace, name } = vault.metadata
  const all = await services.records.list(VaultEntry, { namespace }, { fresh: true })
  const known = new Set(secretsOf(services, vault).map((entry) => entry.metadata.name))
  return all.filter(
    (entry) => entry.spec.vaultName === name && (isEntryActive(entry) || known.has(entry.metadata.name)),
  )
}

const secretList = listRoute(SECRETS_PATH, {
  auth: action('secretvault/read'),
  summary: 'The secrets of a vault, without their values',
  query: z.strictObject({
    includeDeleted: z.enum(['true', 'false']).optional().describe('Also those that are soft-deleted'),
  }),
  dto: SecretDto,
  columns: {
    name: text('Name', { isSearched: true }),
    enabled: flag('Enabled'),
    isDeleted: flag('Deleted'),
    expiresOn: dateTime('Expires'),
    contentType: text('Content type', { isSorted: false }),
    updatedAt: dateTime('Updated', { isFiltered: false }),
  },
  sort: 'name',
  id: 'name',
  isTagged: true,
  rows: async (context) => {
    const vault = await findVault(context as VaultContext)
    const { services, query } = context
    const entries = context.fresh ? await freshSecrets(context as Context, vault) : secretsOf(services, vault)
    const rows = query.includeDeleted === 'true' ? entries : entries.filter(isEntryActive)
    return rows.map((entry) => secretDto({ entry, vault, services }, null))
  },
})

const versionList = listRoute(`${SECRET_PATH}/versions`, {
  auth: dataAction('secretvault/readSecrets'),
  summary: 'The versions of a secret, newest first, without their values',
  dto: SecretVersionDto,
  columns: {
    name: text('Name'),
    version: number('Version'),
    enabled: flag('Enabled'),
    createdAt: dateTime('Created'),
  },
  sort: '-version',
  id: 'version',
  rows: async (context) => {
    const { entry } = await findSecret(context as SecretContext)
    if (!isEntryActive(entry)) throw missingSecret(entry.spec.vaultName, entry.spec.secretName)
    return entryVersionsOf(entry.spec).map((record) => versionDto({ entry, record }))
  },
})

/** Returns the vaults of a boundary whose secrets the caller may read or write. */
async function accessibleVaults(context: Context): Promise<z.output<typeof AccessibleVaultDto>[]> {
  const { services, caller, parameters } = context
  const { boundaryId = '' } = parameters
  await findBoundary(context, boundaryId)
  const viewOf = createViewBuilder<typeof SecretVault>(services, boundaryId)
  const rows: z.output<typeof AccessibleVaultDto>[] = []
  for (const { name: resourceGroup, namespace } of groupsOfBoundary(services, boundaryId)) {
    for (const object of await services.records.list(SecretVault, { namespace }, { fresh: context.fresh })) {
      const { name } = object.metadata
      const scope = resourceScope(boundaryId, resourceGroup, 'secretvaults', name)
      const may = (action: string) => services.access.isAllowed(caller.principalId, action, scope)
      const [canRead, canWrite] = [may('secretvault/readSecrets'), may('secretvault/writeSecrets')]
      // A deny on the vault itself hides it, as in all lists.
      if ((!canRead && !canWrite) || !may('secretvault/read')) continue
      rows.push({
        id: resourceId(viewOf(object, resourceGroup) as never),
        name,
        boundaryId,
        resourceGroup,
        vaultUri: vaultUri(services.vaults.baseUrl, name),
        secretCount: secretCount(services, object),
        canRead,
        canWrite,
      })
    }
  }
  return rows
}

const accessibleList = listRoute('{B}/resources/secretvaults/accessible', {
  auth: action('secretvault/read'),
  summary: 'Vaults whose secrets the caller may read or write',
  dto: AccessibleVaultDto,
  columns: { name: text('Name', { isSearched: true }), resourceGroup: text('Resource group') },
  sort: 'name',
  name: 'name',
  rows: accessibleVaults,
})

declare module '../http/context.ts' {
  interface Services {
    readonly vaults: Vaults
  }
}

function refuseProtected(view: VaultView): void {
  if (!keepsSecrets(view.services, view.object)) return
  const { name } = view.object.metadata
  throw new PlatformError('DELETION_PROTECTED', `Vault "${name}" is under purge protection and holds secrets.`, {
    resources: [`${SecretVault.segment}/${name}`],
  })
}

/** The nineteen routes of secret vaults (interface sections 4.2 and 4.9). */
export const vaultRoutes: readonly RouteDraft[] = [
  ...resource(SecretVault, {
    ...vaultRecord,
    example: { softDeleteEnabled: true },
    nameTaken: 'VAULT_NAME_TAKEN',
    beforeDelete: refuseProtected,
    fields: {
      softDeleteEnabled: flag('Soft delete'),
      enablePurgeProtection: flag('Purge protection'),
      secretCount: number('Secrets', {
        of: ({ object, services }) => secretCount(services, object),
        isFiltered: false,
      }),
    },
  }),
  accessibleList,
  secretList,
  versionList,
  ...withKind(VaultEntry, [
    route('GET', SECRET_PATH, {
      auth: dataAction('secretvault/readSecrets'),
      summary: 'A secret with its value',
      reply: SecretDto,
      handler: readSecret,
    }),
    route('PUT', SECRET_PATH, {
      auth: dataAction('secretvault/writeSecrets'),
      summary: 'Add a version to a secret, which is created if absent',
      body: SetSecretRequest,
      naming: { rule: SECRET_NAMING, pattern: SECRET_NAME_PATTERN },
      example: { value: 'change-me' },
      reply: SecretDto,
      handler: setSecret,
    }),
  ]),
  route('DELETE', SECRET_PATH, {
    auth: dataAction('secretvault/writeSecrets'),
    summary: 'Delete a secret; 200 if it can be recovered',
    reply: SecretDto,
    handler: deleteSecret,
  }),
  route('POST', `${SECRET_PATH}/purge`, {
    auth: dataAction('secretvault/writeSecrets'),
    isHeld: true,
    summary: 'Remove a deleted secret for good',
    handler: purgeSecret,
  }),
  route('POST', `${SECRET_PATH}/recover`, {
    auth: dataAction('secretvault/writeSecrets'),
    isHeld: true,
    summary: 'Make a deleted secret active again',
    reply: SecretDto,
    handler: recoverSecret,
  }),
  route('GET', `${SECRET_PATH}/versions/{version}`, {
    auth: dataAction('secretvault/readSecrets'),
    summary: 'A version with its value',
    reply: SecretVersionDto,
    handler: readVersion,
  }),
  route('GET', '/vaults/{vaultName}/secrets/{name}', {
    auth: checkedByHandler('the data action `secretvault/readSecrets` at the vault'),
    summary: 'A secret with its value, by the name of its vault alone',
    query: z.strictObject({ version: WholeNumber(1).optional().describe('The current one when absent') }),
    reply: SecretDto,
    handler: readByVaultName,
  }),
]

/** Returns the value after checking the attributes of the version. @throws PlatformError as refuseUnreadable */
async function currentValue(context: Context, entry: EntryRecord, version: number): Promise<string> {
  const { services } = context
  refuseUnreadable(entry, version, services.clock.now())
  const value = await readValue(services.vaults, entry, version)
  if (value !== undefined) return value
  // Purged or pruned in the meantime.
  throw missingSecret(entry.spec.vaultName, entry.spec.secretName)
}

async function readSecret(context: SecretContext) {
  const { vault, entry } = await findSecret(context)
  const value = await currentValue(context, entry, currentVersion(entry.spec))
  const dto = secretDto({ entry, vault, services: context.services }, value)
  return ok(dto, { headers: NO_STORE, etag: etagOf(entry) })
}

async function readVersion(context: SecretContext) {
  const { entry } = await findSecret(context)
  const version = versionNumber((context.parameters as Record<string, string>).version)
  const value = await currentValue(context, entry, version)
  const record = entryVersionsOf(entry.spec).find((each) => each.version === version)
  if (record === undefined) throw missingSecret(entry.spec.vaultName, entry.spec.secretName)
  return ok(versionDto({ entry, record }, value), { headers: NO_STORE, etag: etagOf(entry) })
}

/** Returns 0, which no version has, for anything that is not a number. */
function versionNumber(text: string | undefined): number {
  return text !== undefined && /^[1-9][0-9]{0,14}$/.test(text) ? Number(text) : 0
}

/** Missing and hidden vaults get the same answer, so that the name of a foreign vault reveals nothing. */
async function readByVaultName(context: Context<'vaultName' | 'name', { version?: number | undefined }>) {
  const { services, caller, parameters } = context
  const { vaultName, name } = parameters
  const found = await vaultByName(services, vaultName)
  const mayRead = async (scope: string) => isAllowedNow(services, caller.principalId, 'secretvault/readSecrets', scope)
  if (found === undefined || !(await mayRead(found.scope))) throw missingSecret(vaultName, name)
  const entry = await findEntry(context, found.vault, name)
  if (entry === undefined) throw missingSecret(vaultName, name)
  const version = context.query.version ?? currentVersion(entry.spec)
  const value = await currentValue(context, entry, version)
  const dto = secretDto({ entry, vault: found.vault, services }, value, version)
  return ok(dto, { headers: NO_STORE, etag: etagOf(entry) })
}

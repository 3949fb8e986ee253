import { z } from 'zod'
import { entryVersionsOf, isEntryActive } from '../../contracts/vaults/history.ts'
import { vaultUri } from '../../contracts/vaults/names.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import { resourceScope } from '../callers/visibility.ts'
import type { Context } from '../http/context.ts'
import { action, dataAction } from '../http/route.ts'
import { listRoute } from '../resources/collection/columns.ts'
import { createViewBuilder, findBoundary, groupsOfBoundary } from '../resources/find.ts'
import { dateTime, flag, number, text } from '../resources/paging.ts'
import { resourceId } from '../resources/resourceShape.ts'
import { secretsOf } from '../rules/protection.ts'
import {
  findSecret,
  findVault,
  missingSecret,
  SECRET_PATH,
  SECRETS_PATH,
  type SecretContext,
  type VaultContext,
} from './find.ts'
import {
  AccessibleVaultDto,
  type EntryRecord,
  SecretDto,
  SecretVersionDto,
  secretCount,
  secretDto,
  type VaultRecord,
  versionDto,
} from './record.ts'

/** Bypasses the cache, which is up to date afterwards. */
async function freshSecrets({ services }: Context, vault: VaultRecord): Promise<EntryRecord[]> {
  const { namespace, name } = vault.metadata
  const all = await services.records.list(VaultEntry, { namespace }, { fresh: true })
  const known = new Set(secretsOf(services, vault).map((entry) => entry.metadata.name))
  return all.filter(
    (entry) => entry.spec.vaultName === name && (isEntryActive(entry) || known.has(entry.metadata.name)),
  )
}

export const secretList = listRoute(SECRETS_PATH, {
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

export const versionList = listRoute(`${SECRET_PATH}/versions`, {
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

export const accessibleList = listRoute('{B}/resources/secretvaults/accessible', {
  auth: action('secretvault/read'),
  summary: 'Vaults whose secrets the caller may read or write',
  dto: AccessibleVaultDto,
  columns: { name: text('Name', { isSearched: true }), resourceGroup: text('Resource group') },
  sort: 'name',
  name: 'name',
  rows: accessibleVaults,
})

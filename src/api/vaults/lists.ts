import { z } from 'zod'
import { isLive, versionsOf } from '../../contracts/vaults/history.ts'
import { vaultUri } from '../../contracts/vaults/names.ts'
import { summarize } from '../../core/conditions.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import type { Context } from '../http/context.ts'
import { action, dataAction, route } from '../http/route.ts'
import { listRoute } from '../resources/collection/columns.ts'
import { pagedListOf } from '../resources/dto.ts'
import { pagedParts } from '../resources/pages.ts'
import type { ListShape } from '../resources/paging.ts'
import { dateTime, flag, number, text } from '../resources/paging.ts'
import { findBoundary, groupsOfBoundary, viewMaker } from '../resources/places.ts'
import { resourceId } from '../resources/shape.ts'
import { secretsOf } from '../rules/protection.ts'
import { findSecret, findVault, missingSecret, SECRET, SECRETS, type SecretContext, type VaultContext } from './find.ts'
import {
  AccessibleVaultDto,
  type EntryRecord,
  SecretDto,
  SecretVersionDto,
  secretCount,
  secretDto,
  type VaultRecord,
  type VaultView,
  versionDto,
} from './record.ts'

/** Past the cache; afterwards the cache is as new. */
async function freshSecrets({ services }: Context, vault: VaultRecord): Promise<EntryRecord[]> {
  const { namespace, name } = vault.metadata
  const all = await services.records.list(VaultEntry, { namespace }, { fresh: true })
  const known = new Set(secretsOf(services, vault).map((entry) => entry.metadata.name))
  return all.filter((entry) => entry.spec.vaultName === name && (isLive(entry) || known.has(entry.metadata.name)))
}

export const secretList = listRoute(SECRETS, {
  auth: action('secretvault/read'),
  summary: 'The secrets of a vault, without their values',
  query: z.strictObject({ includeDeleted: z.enum(['true', 'false']).optional() }),
  dto: SecretDto,
  columns: {
    name: text('Name', { isSearched: true }),
    enabled: flag('Enabled', { isSorted: false }),
    isDeleted: flag('Deleted', { isSorted: false }),
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
    const rows = query.includeDeleted === 'true' ? entries : entries.filter(isLive)
    return rows.map((entry) => secretDto({ entry, vault, services }, null))
  },
})

export const versionList = listRoute(`${SECRET}/versions`, {
  auth: dataAction('secretvault/readSecrets'),
  summary: 'The versions of a secret, newest first, without their values',
  dto: SecretVersionDto,
  columns: {
    name: text('Name'),
    version: number('Version'),
    enabled: flag('Enabled', { isSorted: false }),
    createdAt: dateTime('Created'),
  },
  sort: '-version',
  id: 'version',
  rows: async (context) => {
    const { entry } = await findSecret(context as SecretContext)
    if (!isLive(entry)) throw missingSecret(entry.spec.vaultName, entry.spec.secretName)
    return versionsOf(entry.spec).map((record) => versionDto({ entry, record }))
  },
})

type AccessibleRow = { view: VaultView; canRead: boolean; canWrite: boolean }

/** By hand: it filters by the state and the age of a vault, which its record does not show. */
const accessibleShape: ListShape<AccessibleRow> = {
  fields: {
    name: text('Name', { of: ({ view }) => view.object.metadata.name, isSearched: true }),
    resourceGroup: text('Resource group', { of: ({ view }) => view.resourceGroup }),
    status: text('Status', {
      of: ({ view: { object } }) => summarize(object.status, object.metadata.deletionTimestamp !== undefined).status,
    }),
    createdAt: dateTime('Created', { of: ({ view }) => view.object.metadata.creationTimestamp }),
  },
  defaultSort: 'name',
  nameOf: ({ view }) => view.object.metadata.name,
  idOf: ({ view }) => view.object.metadata.namespace ?? '',
}

async function listAccessible(context: Context<'boundaryId'>) {
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

export const accessibleList = route(
  'GET',
  '{B}/resources/secretvaults/accessible',
  {
    auth: action('secretvault/read'),
    summary: 'Vaults whose secrets the caller may read or write',
    list: accessibleShape,
    reply: pagedListOf(AccessibleVaultDto),
  },
  listAccessible,
)

import { z } from 'zod'
import {
  attributesOf,
  currentVersion,
  entryVersionsOf,
  isEntryActive,
  purgeTime,
  type VersionRecord,
} from '../../contracts/vaults/history.ts'
import { secretUri, vaultUri } from '../../contracts/vaults/names.ts'
import { SecretVault, type VaultEntry } from '../../crds/vaults.ts'
import type { Services } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import type { RecordOf } from '../records/records.ts'
import { DateTime, Uuid, wholeRecord } from '../resources/dto.ts'
import { recordOf } from '../resources/record.ts'
import type { ResourceView } from '../resources/types.ts'
import { secretsOf } from '../rules/protection.ts'

export type VaultRecord = RecordOf<typeof SecretVault>
export type EntryRecord = RecordOf<typeof VaultEntry>
export type VaultView = ResourceView<typeof SecretVault>

/** SecretVaultDto (interface section 2). */
export const vaultRecord = recordOf(SecretVault, {
  headless: ['statusMessage'],
  computed: {
    secretCount: [z.int().describe('Live ones'), ({ services, object }) => secretCount(services, object)],
    vaultUri: [
      z.string().nullable(),
      ({ services, object }) => vaultUri(services.vaults.baseUrl, object.metadata.name),
    ],
  },
})

export function secretCount(services: Services, vault: VaultRecord): number {
  return secretsOf(services, vault).filter(isEntryActive).length
}

export const AccessibleVaultDto = namedRecord('AccessibleVaultDto', {
  id: Uuid,
  name: z.string(),
  boundaryId: Uuid,
  resourceGroup: z.string(),
  vaultUri: z.string(),
  secretCount: z.int(),
  canRead: z.boolean(),
  canWrite: z.boolean(),
})

const attributes = {
  contentType: z.string().nullable(),
  enabled: z.boolean(),
  notBefore: DateTime.nullable(),
  expiresOn: DateTime.nullable(),
}

export const SecretDto = namedRecord('SecretDto', {
  name: z.string(),
  value: z.string().nullable().describe('In single reads only'),
  version: z.int(),
  ...attributes,
  tags: z.record(z.string(), z.string()),
  createdAt: DateTime,
  updatedAt: DateTime,
  updatedBy: z.string().nullable(),
  isDeleted: z.boolean(),
  deletedAt: DateTime.nullable(),
  purgeAt: DateTime.nullable().describe('When a deleted secret goes by itself'),
  isManaged: z.boolean().describe('Written by the platform, and not to be changed by people'),
  vaultName: z.string(),
  uri: z.string(),
})
export type SecretDto = z.input<typeof SecretDto>

export const SecretVersionDto = namedRecord('SecretVersionDto', {
  name: z.string(),
  version: z.int(),
  value: z.string().nullable().describe('In single reads only'),
  ...attributes,
  createdAt: DateTime,
  createdBy: z.string().nullable(),
  isCurrent: z.boolean(),
})

export type SecretView = { entry: EntryRecord; vault: VaultRecord; services: Services }

const UNKNOWN_TIME = '1970-01-01T00:00:00Z'

/** @param version the version to show, if not the newest */
export function secretDto({ entry, vault, services }: SecretView, value: string | null, version?: number): SecretDto {
  const { spec, metadata } = entry
  const { history } = spec
  const shown = entryVersionsOf(spec).find((record) => record.version === version) ?? spec
  const createdAt = history?.createdAt ?? metadata.creationTimestamp ?? UNKNOWN_TIME
  return wholeRecord(SecretDto, {
    ...attributesOf(shown),
    ...history,
    name: spec.secretName,
    value,
    version: version ?? currentVersion(spec),
    tags: spec.tags,
    createdAt,
    updatedAt: history?.updatedAt ?? createdAt,
    isDeleted: spec.state === 'Deleted',
    purgeAt: purgeTime(spec, vault.spec),
    isManaged: history?.isManaged ?? false,
    vaultName: spec.vaultName,
    uri: secretUri(services.vaults.baseUrl, spec.vaultName, spec.secretName),
  })
}

export type VersionView = { entry: EntryRecord; record: VersionRecord }

export function versionDto(
  { entry, record }: VersionView,
  value: string | null = null,
): z.input<typeof SecretVersionDto> {
  const isCurrent = record.version === currentVersion(entry.spec)
  return wholeRecord(SecretVersionDto, { ...record, name: entry.spec.secretName, value, isCurrent })
}

import { createMemoryAuditLog } from '../../src/adapters/audit/memory.ts'
import { FakeImageRegistry } from '../../src/adapters/registry/fake.ts'
import { createRegistryKeys, type PemKeyPair } from '../../src/adapters/registry/keys.ts'
import type { RegistryKeys } from '../../src/adapters/registry/port.ts'
import type { RegistryService } from '../../src/api/registry/service.ts'
import { BoundarySpace } from '../../src/api/registry/space.ts'
import { createAuthority, issueCertificate } from '../../src/composition/certificates.ts'
import type { RegistryAuditEntry } from '../../src/contracts/registry/audit.ts'
import { type ImageUses, NO_IMAGE_USES } from '../../src/contracts/registry/retention.ts'

const YEAR_2026 = new Date('2026-01-01T00:00:00Z')
let keys: Promise<RegistryKeys> | undefined

async function makeKeys(): Promise<RegistryKeys> {
  const authority = await createAuthority('registry of tests', YEAR_2026)
  const certify = (pair: PemKeyPair, now: Date) =>
    issueCertificate(pair, { commonName: 'tokens', purpose: 'client' }, now)
  return createRegistryKeys({ authority, certify, issuer: 'freehold', service: 'registry.test' })
}

/** The same for all tests of a process. */
export function testKeys(): RegistryKeys {
  keys ??= makeKeys()
  const made = keys
  return {
    token: async (...given) => (await made).token(...given),
    issue: async (credential) => (await made).issue(credential),
    read: async (...given) => (await made).read(...given),
  }
}

/** The registry of a facade in memory. A service account's secret is `secret of <id>`; tokens are principals' ids. */
export function makeRegistry(change: Partial<RegistryService> = {}) {
  const registry = new FakeImageRegistry()
  const audit = createMemoryAuditLog<RegistryAuditEntry>()
  const uses = new Map<string, ImageUses>()
  const ended = new Set<string>()
  const caller = (principalId: string, principalType: 'User' | 'ServicePrincipal') =>
    ended.has(principalId) ? undefined : { principalId, principalType, expiresAt: Number.POSITIVE_INFINITY }
  const service: RegistryService = {
    host: 'registry.test',
    service: 'registry.test',
    registry,
    keys: testKeys(),
    audit,
    space: new BoundarySpace(registry, 1024 ** 3),
    notifySecret: () => 'secret of the registry',
    uses: async () => (repository) => uses.get(repository) ?? NO_IMAGE_USES,
    signIn: {
      byToken: async (token) => (/^[0-9a-f-]{36}$/.test(token) ? caller(token, 'User') : undefined),
      byClient: async (id, secret) => (secret === `secret of ${id}` ? caller(id, 'ServicePrincipal') : undefined),
      stands: async ({ principalId }) => !ended.has(principalId),
    },
    ...change,
  }
  return { service, registry, audit, uses, ended }
}

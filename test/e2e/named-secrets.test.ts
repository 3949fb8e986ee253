import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { SETTINGS_NAME, TARGET_SECRETS } from '../../src/contracts/platformbackups/names.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { KINDS } from '../../src/crds/index.ts'
import { crdManifest } from '../../src/crds/manifest.ts'
import { PlatformBackupSettings } from '../../src/crds/platformBackups.ts'
import { DeploymentSource } from '../../src/crds/sources.ts'
import { SsoConnection } from '../../src/crds/sso.ts'
import { role, roleBinding } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { absent, isKubeError } from '../../src/kube/errors.ts'
import { sampleName, sampleSpec } from '../make/samples.ts'
import { makeBoundary, makeCaller, makeGroup, uniqueName, until } from '../worlds/platform.ts'
import { administrator, clientWithToken, giveEveryVerb } from '../worlds/tenant.ts'

type Schema = { properties?: Record<string, Schema>; items?: Schema }

/** Paths of fields that name a Secret of Kubernetes; fields beside a vaultName name a secret of a vault. */
function namesOfSecrets({ properties = {}, items }: Schema, path: string): string[] {
  const inside = Object.entries(properties).flatMap(([name, schema]) => {
    const here = path === '' ? name : `${path}.${name}`
    const isName = /secretName$/i.test(name) && !('vaultName' in properties)
    return isName ? [here] : namesOfSecrets(schema, here)
  })
  return [...inside, ...(items === undefined ? [] : namesOfSecrets(items, path))]
}

function specSchema(kind: AnyKind): Schema {
  const { spec } = crdManifest(kind) as unknown as {
    spec: { versions: { schema: { openAPIV3Schema: { properties: Record<string, Schema> } } }[] }
  }
  return spec.versions[0]?.schema.openAPIV3Schema.properties.spec ?? {}
}

const PROVIDER = {
  ...{ alias: 'acme', displayName: 'Acme', clientId: 'freehold', clientSecretName: 'not-yours' },
  metadataUrl: 'https://login.example.com/.well-known/openid-configuration',
}
const TARGET = { bucket: 'backups', endpoint: 'https://store.example.com', secretName: TARGET_SECRETS[0] }
const VERSIONS = {
  ...{ life: 1, lastVersion: 1, versions: [{ version: 1, createdAt: '2026-01-01T00:00:00Z' }] },
  ...{ softDelete: true, purgeProtection: false },
}
const SOURCE = { secretName: 'not-yours', key: 'password', uid: randomUUID(), resourceVersion: '1', version: 1 }

/** What names a Secret, by the field that does. */
const SAMPLES: Readonly<Record<string, object>> = {
  'DeploymentSource.credentials.secretName': { credentials: { secretName: 'not-yours' } },
  'PlatformBackupSettings.target.secretName': { target: TARGET },
  'PlatformClient.secretName': { secretName: 'not-yours' },
  'SsoConnection.identityProviders.clientSecretName': { identityProviders: [PROVIDER] },
  'VaultEntry.history.source.secretName': { history: { ...VERSIONS, source: SOURCE } },
  'VaultEntry.valueFrom.secretName': { valueFrom: { secretName: 'not-yours', key: 'password' } },
}
/** Names of Secrets that are created, or that only people read: the platform does not read Secrets by these names. */
const UNREAD = ['BugReport.attachments.secretName', 'VaultEntry.mountAs.secretName']

const FIELDS = KINDS.flatMap((kind) =>
  namesOfSecrets(specSchema(kind), '')
    .map((path) => ({ kind, field: `${kind.kind}.${path}` }))
    .filter(({ field }) => !UNREAD.includes(field)),
)
const dryRun = { dryRun: true }
const REFUSED = /may not get|written through the REST API|written by an administrator/

/** The platform reads Secrets that objects name, so a writer of the name could have them sent to a host of theirs. */
describe('fields that name a Secret, with kubectl', () => {
  let admin: KubeClient
  /** May write every kind of the platform, but read no Secret. */
  let clerk: KubeClient
  let release: () => Promise<unknown>
  let clerkId: string
  let boundaryId: string
  let groupHome: string

  before(async () => {
    admin = await administrator()
    boundaryId = (await makeBoundary()).id
    groupHome = (await makeGroup(boundaryId)).namespace
    const account = await makeCaller()
    clerkId = account.principalId
    clerk = await clientWithToken(account.token)
    release = await giveEveryVerb(admin, clerkId)
    await until('the clerk may write', async () => {
      const path = '/apis/freehold.dev/v1alpha1/boundaries'
      return (await clerk.request({ path, query: { limit: '1' } })).status === 200
    })
  })
  after(async () => {
    await release()
    await Promise.all([clerk.close(), admin.close()])
  })

  const homeOf = ({ placement }: AnyKind) =>
    ({ platform: SYSTEM_NAMESPACE, group: groupHome })[placement as string] ?? boundaryNamespace(boundaryId)

  function objectOf(kind: AnyKind, given: object): KubeObject {
    const spec = { ...sampleSpec(kind, { boundaryId, ownerId: randomUUID(), memberId: randomUUID() }), ...given }
    const metadata = { name: sampleName(kind, spec), namespace: homeOf(kind) }
    return { apiVersion: kind.apiVersion, kind: kind.kind, metadata, spec }
  }

  /** Allows the clerk to get one Secret of the platform's own namespace. */
  async function giveOneSecret(name: string): Promise<() => Promise<unknown>> {
    const metadata = { namespace: SYSTEM_NAMESPACE, name: uniqueName('one-secret') }
    const [group, apiVersion] = ['rbac.authorization.k8s.io', 'rbac.authorization.k8s.io/v1']
    const rules = [{ apiGroups: [''], resources: ['secrets'], resourceNames: [name], verbs: ['get'] }]
    await admin.create(role, { apiVersion, kind: 'Role', metadata, rules } as KubeObject)
    await admin.create(roleBinding, {
      ...{ apiVersion, kind: 'RoleBinding', metadata },
      roleRef: { apiGroup: group, kind: 'Role', name: metadata.name },
      subjects: [{ apiGroup: group, kind: 'User', name: `p:${clerkId}` }],
    } as KubeObject)
    return () => Promise.all([roleBinding, role].map((resource) => admin.remove(resource, metadata)))
  }

  async function refusal(write: Promise<unknown>): Promise<string> {
    const error = await write.then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    if (!isKubeError(error)) throw new Error(`It was not refused: ${String(error)}`)
    return [error.denial?.message ?? error.message, ...error.causes.map(({ message }) => message)].join('\n')
  }

  it('are all covered by samples', () => {
    expect(FIELDS.map(({ field }) => field).sort()).to.deep.equal(Object.keys(SAMPLES))
  })

  for (const { kind, field } of FIELDS) {
    it(`are refused to a writer who may not get the Secret: ${field}`, async () => {
      const object = objectOf(kind, SAMPLES[field] ?? {})
      const { namespace = '', name } = object.metadata
      // Of some kinds there is one object, which is there already.
      const isThere = (await admin.get(kind.resource, { namespace, name }).catch(absent)) !== undefined
      const write = isThere
        ? clerk.mergePatch(kind.resource, { namespace, name }, { spec: SAMPLES[field] }, dryRun)
        : clerk.create(kind.resource, object, dryRun)
      expect(await refusal(write)).to.match(REFUSED)
    })
  }

  it('are accepted from a writer who may get that Secret, and no other', async () => {
    const [mine, other] = TARGET_SECRETS
    const ref = { namespace: SYSTEM_NAMESPACE, name: SETTINGS_NAME }
    const change = (secretName: string) =>
      clerk.mergePatch(PlatformBackupSettings.resource, ref, { spec: { target: { ...TARGET, secretName } } }, dryRun)
    const withdraw = await giveOneSecret(mine)
    try {
      await until('the clerk may get the Secret', () =>
        change(mine).then(
          () => true,
          () => false,
        ),
      )
      expect(await refusal(change(other))).to.match(/target names a Secret that you may not get/)
    } finally {
      await withdraw()
    }
  })

  it('do not hinder changes of other fields', async () => {
    const source = objectOf(DeploymentSource, { credentials: { secretName: 'not-yours' } })
    const ref = { namespace: source.metadata.namespace ?? '', name: source.metadata.name }
    await admin.create(DeploymentSource.resource, source)
    const change = (spec: object) => clerk.mergePatch(DeploymentSource.resource, ref, { spec }, dryRun)
    await change({ displayName: 'Another name' })
    expect(await refusal(change({ credentials: { secretName: 'another' } }))).to.match(REFUSED)
  })

  it('are accepted from administrators only, with the addresses to which an SSO secret is sent', async () => {
    const connection = objectOf(SsoConnection, { domains: [], identityProviders: [PROVIDER] })
    const { namespace, name } = connection.metadata
    const ref = { namespace: namespace ?? '', name }
    await admin.create(SsoConnection.resource, connection)
    try {
      for (const field of ['metadataUrl', 'tokenUrl', 'issuer', 'clientSecretName']) {
        const value = field === 'clientSecretName' ? 'another' : 'https://evil.example.com/'
        const patch = { spec: { identityProviders: [{ ...PROVIDER, [field]: value }] } }
        const change = (client: KubeClient) => client.mergePatch(SsoConnection.resource, ref, patch, dryRun)
        expect(await refusal(change(clerk)), field).to.match(REFUSED)
        await change(admin)
      }
    } finally {
      await admin.remove(SsoConnection.resource, ref)
    }
  })
})

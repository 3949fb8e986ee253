import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { KubeObject } from '../../src/core/object.ts'
import { SecretVault, VaultEntry } from '../../src/crds/vaults.ts'
import { secret } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isKubeError } from '../../src/kube/errors.ts'
import { type KubectlOptions, type Ran, ranKubectl } from '../worlds/kubectl.ts'
import { call, type ErrorBody, expectCall, makeCaller, makeGroupPlace, uniqueName, until } from '../worlds/platform.ts'
import { administrator, clientWithToken, kubeconfigWithToken } from '../worlds/tenant.ts'
import { canary, makeVault, type SecretBody, type VaultPlace } from '../worlds/vaultWorld.ts'

describe('secret vaults with kubectl', () => {
  let folder: string
  let admin: KubeClient
  let at: VaultPlace

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-vaults-'))
    admin = await administrator()
    at = await makeVault({}, await makeGroupPlace())
    const client = await clientWithToken((await makeCaller()).token)
    await until('the API server takes tokens', async () => (await client.request({ path: '/api' })).status === 200)
    await client.close()
  })
  after(async () => {
    await admin.close()
    await rm(folder, { recursive: true, force: true })
  })

  /** kubectl as the cluster's administrator, or with nothing but a token. */
  async function kubectl(args: string, { input, token }: { input?: object; token?: string } = {}): Promise<Ran> {
    const options: KubectlOptions = input === undefined ? {} : { input }
    if (token === undefined) return ranKubectl(args.split(' '), options)
    const kubeconfig = join(folder, uniqueName('kubeconfig'))
    await writeFile(kubeconfig, kubeconfigWithToken(token))
    return ranKubectl(args.split(' '), { ...options, kubeconfig })
  }
  const entry = (name: string, spec: object = {}) => ({
    apiVersion: VaultEntry.apiVersion,
    kind: 'VaultEntry',
    metadata: { name: at.entry(name), namespace: at.namespace },
    spec: { vaultName: at.vault, secretName: name, ...spec },
  })
  const plain = (name: string, value: string, more: object = {}) =>
    ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace: at.namespace },
      stringData: { value },
      ...more,
    }) as KubeObject
  const patch = (name: string, spec: object, token?: string) =>
    kubectl(
      `-n ${at.namespace} patch vent ${at.entry(name)} --type=merge -p ${JSON.stringify({ spec })}`,
      token === undefined ? {} : { token },
    )
  const stored = async (name: string) =>
    (await admin.get(VaultEntry.resource, { namespace: at.namespace, name: at.entry(name) })) as unknown as VaultEntry
  const secretOf = async (name: string) => {
    try {
      return await admin.get<KubeObject & { data?: Record<string, string> }>(secret, { namespace: at.namespace, name })
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return undefined
      throw error
    }
  }
  const says = (name: string, phase: string) =>
    until(`${name} says ${phase}`, async () => {
      const { status, metadata } = await stored(name)
      if (status?.observedGeneration === metadata.generation && status?.phase === phase) return status
      throw new Error(`${status?.phase}: ${status?.statusMessage}`)
    })
  const valueBy = async (name: string) => (await call<SecretBody>('GET', at.secret(name))).body?.value

  it('create a vault, and set NameOccupied for a second one with its name', async () => {
    const name = uniqueName('vault')
    const vault = {
      apiVersion: SecretVault.apiVersion,
      kind: 'SecretVault',
      metadata: { name, namespace: at.namespace },
    }
    expect(await kubectl('apply -f -', { input: vault })).to.include({ code: 0 })
    expect(await kubectl(`-n ${at.namespace} wait --for=condition=Ready svault/${name} --timeout=2m`)).to.include({
      code: 0,
    })
    const path = at.path.replace(at.vault, name)
    await expectCall(200, 'GET', path)
    const second = { ...vault, metadata: { name, namespace: (await makeGroupPlace()).namespace } }
    expect(await kubectl('apply -f -', { input: second })).to.include({ code: 0 })
    await until('the second one is NameOccupied', async () => {
      const found = await admin.get(SecretVault.resource, second.metadata)
      return (found as unknown as SecretVault).status?.phase === 'NameOccupied'
    })
    const { stdout } = await kubectl(`-n ${at.namespace} get svault ${name}`)
    expect(stdout).to.match(/READY +STATUS +SECRETS +DELETED +SOFT DELETE +PURGE PROTECTION/)
    expect(await kubectl(`-n ${at.namespace} delete svault ${name} --timeout=2m`)).to.include({ code: 0 })
    await until('the second one is Available', async () => {
      const found = await admin.get(SecretVault.resource, second.metadata)
      return (found as unknown as SecretVault).status?.phase === 'Available'
    })
  })

  it('follow a Secret, and store its value in no other object', async () => {
    const [first, second] = [canary(), canary()]
    await admin.create(secret, plain('incoming', first))
    const incoming = { name: 'incoming', namespace: at.namespace }
    const input = entry('FromGit', { contentType: 'text/plain', valueFrom: { secretName: 'incoming', key: 'value' } })
    expect(await kubectl('apply -f -', { input })).to.include({ code: 0 })
    await until('REST reads it', async () => (await valueBy('fromgit')) === first)
    await says('FromGit', 'Available')
    expect(await kubectl('apply -f -', { input })).to.include({ code: 0 })
    expect(await kubectl('diff -f -', { input }), 'nothing drifts').to.include({ code: 0, stdout: '' })
    // The same value again makes no version, another one does.
    for (const [value, version] of [
      [first, 1],
      [second, 2],
    ] as const) {
      const { metadata } = await admin.apply(
        secret,
        plain('incoming', value, { metadata: { ...incoming, labels: { run: String(version) } } }),
      )
      await until('the change is processed', async () => {
        return (await stored('FromGit')).spec.history?.source?.resourceVersion === metadata.resourceVersion
      })
      await until('REST reads it', async () => (await valueBy('fromgit')) === value)
      expect((await expectCall<SecretBody>(200, 'GET', at.secret('fromgit'))).body.version).to.equal(version)
    }
    await admin.remove(secret, incoming)
    await says('FromGit', 'Available')
    expect(await valueBy('fromgit')).to.equal(second)
    const { stdout } = await kubectl(`-n ${at.namespace} get vent ${at.entry('fromgit')} -o yaml`)
    expect(stdout).not.to.contain(first).and.not.contain(second)
    const columns = await kubectl(`-n ${at.namespace} get vent ${at.entry('fromgit')}`)
    expect(columns.stdout).to.match(/READY +STATUS +VAULT +SECRET +STATE +VERSION +ENABLED +EXPIRES/)
    expect(columns.stdout).to.contain('FromGit')
  })

  it('wait for a missing Secret, and refuse one with an owner', async () => {
    expect(
      await kubectl('apply -f -', { input: entry('late', { valueFrom: { secretName: 'later', key: 'value' } }) }),
    ).to.include({ code: 0 })
    await says('late', 'WaitingForDependency')
    await admin.create(secret, plain('later', 'x'))
    await until('it is read', async () => (await valueBy('late')) === 'x')
    await expectCall(200, 'PUT', at.secret('other'), { value: 'y' })
    const owned = { metadata: { name: 'owned', namespace: at.namespace, labels: { 'freehold.dev/owner-kind': 'X' } } }
    await admin.create(secret, plain('owned', 'x', owned))
    await patch('other', { valueFrom: { secretName: 'owned', key: 'value' } })
    await says('other', 'ReferenceMissing')
    expect(await secretOf('owned')).not.to.equal(undefined)
  })

  it('reject a VaultEntry with another name than that of its secret', async () => {
    // If a name does not show its vault, no right to read or remove it could be checked.
    const odd = { ...entry('named'), metadata: { name: 'my-name', namespace: at.namespace } }
    const refused = await kubectl('create -f -', { input: odd })
    expect(refused.stderr).to.contain('the name of a VaultEntry must be <vaultName>-<first 20 hex digits')
    const name = `${at.vault}-${'0'.repeat(20)}`
    const wrong = { ...entry('named'), metadata: { name, namespace: at.namespace } }
    await admin.create(VaultEntry.resource, wrong as KubeObject)
    await until('the status contains the right name', async () => {
      const found = (await admin.get(VaultEntry.resource, wrong.metadata)) as unknown as VaultEntry
      return found.status?.statusMessage?.includes(`"${at.entry('named')}"`)
    })
    expect((await kubectl(`-n ${at.namespace} delete vent ${name}`)).code).to.equal(0)
  })

  it('delete, recover and purge a secret through spec.state', async () => {
    await expectCall(200, 'PUT', at.secret('state'), { value: 'x' })
    expect((await patch('state', { state: 'Purged' })).stderr).to.contain('only a deleted secret can be purged')
    await patch('state', { state: 'Deleted' })
    await until('REST lists it as deleted', async () => {
      const { body } = await expectCall<{ items: SecretBody[] }>(
        200,
        'GET',
        `${at.path}/secrets?includeDeleted=true&search=state`,
      )
      return body.items[0]?.isDeleted === true && body.items[0].purgeAt !== null
    })
    await patch('state', { state: 'Active' })
    await until('REST reads it', async () => (await valueBy('state')) === 'x')
    await patch('state', { state: 'Deleted' })
    await says('state', 'Available')
    expect(await patch('state', { state: 'Purged' })).to.include({ code: 0 })
    await until('nothing is left', async () => {
      const { spec, status } = await stored('state')
      return spec.history?.versions.length === 0 && status?.purgedLife === 1
    })
    expect((await call('POST', `${at.secret('state')}/recover`)).status).to.equal(404)
  })

  it('refuse to delete secrets and vaults under purge protection, also for administrators', async () => {
    const guarded = await makeVault({ enablePurgeProtection: true }, at)
    await expectCall(200, 'PUT', guarded.secret('x'), { value: 'y' })
    await expectCall(200, 'DELETE', guarded.secret('x'))
    const { stderr } = await kubectl(
      `-n ${at.namespace} patch vent ${guarded.entry('x')} --type=merge -p ${JSON.stringify({ spec: { state: 'Purged' } })}`,
    )
    expect(stderr).to.contain('purge protection')
    const removal = await kubectl(`-n ${at.namespace} delete vent ${guarded.entry('x')}`)
    expect(removal.stderr).to.contain('goes only when it was deleted')
    await until('the vault counts the deleted secret', async () => {
      const found = await admin.get(SecretVault.resource, { namespace: at.namespace, name: guarded.vault })
      return (found as unknown as SecretVault).status?.deletedCount === 1
    })
    const deletion = await kubectl(`-n ${at.namespace} delete svault ${guarded.vault}`)
    expect(deletion.stderr).to.contain('only when it holds no secrets')
    // Protection that is enabled later covers what was deleted before.
    const later = await makeVault({}, at)
    await expectCall(200, 'PUT', later.secret('x'), { value: 'y' })
    await expectCall(200, 'DELETE', later.secret('x'))
    await kubectl(
      `-n ${at.namespace} patch svault ${later.vault} --type=merge -p {"spec":{"enablePurgeProtection":true}}`,
    )
    await until('the secret is protected', async () => {
      const found = await admin.get(VaultEntry.resource, { namespace: at.namespace, name: later.entry('x') })
      return (found as unknown as VaultEntry).spec.history?.purgeProtection
    })
  })

  it('keep a Secret for workloads at the current value while that is readable', async () => {
    const decoded = async () =>
      Buffer.from((await secretOf('db-credentials'))?.data?.password ?? '', 'base64').toString()
    const [first, second] = [canary(), canary()]
    await expectCall(200, 'PUT', at.secret('mounted'), { value: first })
    await patch('mounted', { mountAs: { secretName: 'db-credentials', key: 'password' } })
    await until('it is there', async () => (await decoded()) === first)
    await expectCall(200, 'PUT', at.secret('mounted'), { value: second })
    await until('it is current', async () => (await decoded()) === second)
    await admin.remove(secret, { namespace: at.namespace, name: 'db-credentials' })
    await until('it is made again', async () => (await decoded()) === second)
    await patch('mounted', { enabled: false })
    await until(
      'it is gone while the value may not be read',
      async () => (await secretOf('db-credentials')) === undefined,
    )
    await patch('mounted', { enabled: true })
    await until('it is back', async () => (await decoded()) === second)
    const soon = new Date(Date.now() + 2_000).toISOString().slice(0, 19)
    await patch('mounted', { expiresOn: `${soon}Z` })
    await until(
      'it is deleted when the value has expired',
      async () => (await secretOf('db-credentials')) === undefined,
    )
    expect((await call<ErrorBody>('GET', at.secret('mounted'))).body.code).to.equal('SECRET_EXPIRED')
    await patch('mounted', { expiresOn: null })
    await until('it is back', async () => (await decoded()) === second)
    await expectCall(200, 'DELETE', at.secret('mounted'))
    await until('it is deleted with the secret', async () => (await secretOf('db-credentials')) === undefined)
  })

  it('allow each caller the requests of their roles', async () => {
    const token = async (role: string) => (await makeCaller({ [role]: at.scope })).token
    const [reader, officer] = [await token('Secrets Reader'), await token('Secrets Officer')]
    await expectCall(200, 'PUT', at.secret('roles'), { value: 'x' })
    const name = at.entry('roles')
    expect(await kubectl(`-n ${at.namespace} get vent ${name}`, { token: reader })).to.include({ code: 0 })
    expect((await patch('roles', { enabled: false }, reader)).stderr).to.contain('Forbidden')
    expect(await patch('roles', { tags: { a: '1' } }, officer)).to.include({ code: 0 })
    expect((await kubectl(`-n ${at.namespace} delete vent ${name}`, { token: officer })).stderr).to.contain('Forbidden')
    const history = { ...(await stored('roles')).spec.history, lastVersion: 0 }
    expect((await patch('roles', { history }, officer)).stderr).to.contain('administrator of the cluster only')
    await admin.create(secret, plain('not-yours', 'z'))
    const stolen = await patch('roles', { valueFrom: { secretName: 'not-yours', key: 'value' } }, officer)
    expect(stolen.stderr).to.contain('valueFrom names a Secret that you may not get')
    expect(await patch('roles', { mountAs: { secretName: 'by-officer', key: 'value' } }, officer)).to.include({
      code: 0,
    })
    expect((await kubectl(`-n ${at.namespace} get secrets`, { token: officer })).stderr).to.contain('Forbidden')
  })

  it('count towards the quota of resources', async () => {
    const home = await makeGroupPlace()
    await admin.mergePatch(
      { group: 'freehold.dev', version: 'v1alpha1', plural: 'boundaries', kind: 'Boundary', namespaced: false },
      { name: home.boundaryId },
      { spec: { quota: { resources: 1 } } },
    )
    const vault = (name: string) => ({
      apiVersion: SecretVault.apiVersion,
      kind: 'SecretVault',
      metadata: { name, namespace: home.namespace },
    })
    const [one, two] = [uniqueName('first'), uniqueName('second')]
    expect(await kubectl('apply -f -', { input: vault(one) })).to.include({ code: 0 })
    await until('the first is ready', async () => {
      const found = await admin.get(SecretVault.resource, { namespace: home.namespace, name: one })
      return (found as unknown as SecretVault).status?.phase === 'Available'
    })
    expect(await kubectl('apply -f -', { input: vault(two) })).to.include({ code: 0 })
    await until('the second exceeds the quota', async () => {
      const found = await admin.get(SecretVault.resource, { namespace: home.namespace, name: two })
      return (found as unknown as SecretVault).status?.phase === 'QuotaExceeded'
    })
    const path = `/boundaries/${home.boundaryId}/resourcegroups/${home.group}/resources/secretvaults/${uniqueName('third')}`
    const answer = await call<ErrorBody>('POST', path, {})
    expect(`${answer.status} ${answer.body.code}`).to.equal('422 QUOTA_EXCEEDED')
  })
})

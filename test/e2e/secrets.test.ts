import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ListBucketsCommand } from '@aws-sdk/client-s3'
import { expect } from 'chai'
import { relationalNames } from '../../src/contracts/relational.ts'
import { sqlNames } from '../../src/contracts/sql.ts'
import { boundaryNamespace, groupNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import { secretData } from '../../src/core/secretData.ts'
import { PlatformCluster } from '../../src/crds/clusters.ts'
import { KINDS } from '../../src/crds/index.ts'
import { DeploymentSource } from '../../src/crds/sources.ts'
import * as builtin from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { POSTGRESQL_RESOURCES } from '../../src/kube/postgresql.ts'
import { s3Client, statusOf } from '../make/s3Client.ts'
import { call, expectCall, makeBoundary, makeGroup, uniqueName, until } from '../worlds/platform.ts'
import { administrator, makeServiceAccount, testPlatform } from '../worlds/tenant.ts'
import { canary, makeVault } from '../worlds/vaultWorld.ts'

/** Forms in which a secret might appear: as it is, and as careless code writes it. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  return [secret, bytes.toString('base64').replace(/=+$/, ''), bytes.toString('hex'), encodeURIComponent(secret)]
}

/** Includes a resource's activity, once there is some: it is stored compressed, where a text search finds nothing. */
async function recordActivity(path: string, least: number, record: (...given: Parameters<typeof call>) => unknown) {
  await until(`activity of ${path} is recorded`, async () => {
    const { body } = await call<{ items: unknown[] }>('GET', `${path}/activity?pageSize=500`)
    return body.items.length >= least
  })
  await record('GET', `${path}/activity?pageSize=500`)
}

describe('secrets', () => {
  let admin: KubeClient
  before(async () => {
    admin = await administrator()
  })
  after(() => admin.close())

  it('of databases and service accounts occur only in Secrets and in the answer that returns them', async () => {
    const boundary = await makeBoundary()
    const group = await makeGroup(boundary.id)
    const path = `/boundaries/${boundary.id}/resourcegroups/${group.name}/resources/vectorclusters/guarded`
    const planted = `pw-${randomUUID()}`
    const answers: string[] = []
    const record = async (...given: Parameters<typeof call>) => {
      const answer = await call(...given)
      answers.push(answer.text, JSON.stringify([...answer.headers]))
      return answer
    }
    await expectCall(201, 'POST', path, {})
    await until(
      'the database runs',
      async () => (await call<{ status: string }>('GET', path)).body.status === 'Running',
    )
    const relational = path.replace('vectorclusters', 'relationalclusters')
    await expectCall(201, 'POST', relational, { enablePooler: true, extensions: ['citext'] })
    await until(
      'the relational database runs',
      async () => (await call<{ status: string }>('GET', relational)).body.status === 'Running',
    )
    const connection = await expectCall<{ password: string }>(200, 'GET', `${relational}/connectionstring`)
    const { password } = connection.body
    await record('POST', `${relational}-other`, { parameters: { archive_command: planted } })
    await record('POST', `${relational}/snapshots`, { name: 'kept' })
    await record('GET', relational)
    await record('GET', `${relational}/health`)
    await record('GET', `${relational}/connectionstring/external`)
    await record('GET', `${relational}/snapshots/pitr-window`)
    await record('PATCH', relational, { parameters: { work_mem: '8MB' } })
    const key = (await expectCall<{ apiKey: string; readOnlyApiKey: string }>(200, 'GET', `${path}/apikey`)).body
    type Rotated = { pendingApiKey: string | null; apiKey: string }
    const rotated = (await expectCall<Rotated>(200, 'POST', `${path}/apikey/rotate`)).body
    // A slow reader sees the new value already.
    const newKey = rotated.pendingApiKey ?? rotated.apiKey
    const account = await makeServiceAccount(admin, 'Canary')
    const sql = await sqlSecrets(admin, boundary.id, group.name, record)
    const logins = await relationalSecrets(admin, groupNamespace(boundary.id, group.name), relational, record)
    expect(logins).to.have.length(2)

    // Secrets in wrong places, to see whether an answer or a log repeats them.
    await record('POST', `${path}-other`, { apiKey: planted })
    await record('PATCH', path, { computePlan: planted })
    await record('GET', `${path}?filter=name:eq:${planted}&nonsense=${planted}`)
    await record('GET', path, undefined, { token: planted })
    await record('PUT', `${path}/actions/stop`)
    await record('GET', path)
    await record('GET', `${path}/health`)
    await record('GET', `${path}/connectioninfo`)
    await record('GET', path.replace('/guarded', ''))
    for (const each of [path, relational]) await recordActivity(each, 1, record)

    const platform = [key.apiKey, key.readOnlyApiKey, newKey, account.clientSecret, account.token]
    const ours = [...platform, password, ...logins, ...sql]
    expect(ours.every((secret) => secret.length > 20)).to.equal(true)
    const home = groupNamespace(boundary.id, group.name)
    const texts: [string, string][] = [
      ...(await objectsOf(admin, home)),
      ...logsOf(),
      ...answers.map((text): [string, string] => ['an answer', text]),
    ]
    expect(texts.length).to.be.greaterThan(30)
    const found = texts.flatMap(([where, text]) =>
      ours.filter((secret) => formsOf(secret).some((form) => text.includes(form))).map(() => where),
    )
    expect(found).to.deep.equal([])
    const inLogs = logsOf()
      .filter(([, text]) => text.includes(planted))
      .map(([where]) => where)
    expect(inLogs, 'secrets in wrong fields are not logged').to.deep.equal([])
  })

  it('of deployment sources occur only in their Secrets', async () => {
    const { id } = await makeBoundary()
    const path = `/boundaries/${id}/sources`
    const planted = `deploy-key-${randomUUID()}`
    const answers: string[] = []
    const record = async (...given: Parameters<typeof call>) => {
      const answer = await call(...given)
      answers.push(answer.text, JSON.stringify([...answer.headers]))
    }
    const body = { displayName: 'Guarded', baseUrl: 'ssh://git@git.example.com/x.git', privateKey: planted }
    await record('POST', `${path}/git/create`, body)
    const [source, webhookSecret] = [randomUUID(), `hook-${randomUUID()}`]
    const namespace = boundaryNamespace(id)
    const data = secretData({ 'private-key': planted, 'webhook-secret': webhookSecret })
    const key = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'guarded', namespace }, data }
    await admin.create(builtin.secret, key as KubeObject)
    const { apiVersion, kind, resource } = DeploymentSource
    const { displayName, baseUrl } = body
    const spec = { provider: 'Git', displayName, baseUrl, credentials: { secretName: 'guarded' } }
    await admin.create(resource, { apiVersion, kind, metadata: { name: source, namespace }, spec } as KubeObject)
    const list = () => call<{ items: { status: string }[] }>('GET', path)
    await until('the source was asked', async () => (await list()).body.items[0]?.status === 'Failing')
    for (const tail of ['', '/git/installations', `/git/${source}/health`, `/git/${source}/repositories`])
      await record('GET', path + tail)
    await record('POST', `${path}/git/installations/${source}/token/repository`)
    await record('POST', `${path}/gitea/create`, { ...body, accessToken: planted })
    await record('POST', `${path}/gitlab/create`, { displayName: planted, accessToken: planted })
    await record('GET', `${path}/github/finalize?installation_id=1&state=${webhookSecret}`)
    const headers = { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}`, 'x-freehold-event': 'push' }
    await record('POST', `${path}/git/webhooks?source=${source}`, { planted: webhookSecret }, { headers })
    const texts: [string, string][] = [
      ...(await objectsOf(admin, boundaryNamespace(id))),
      ...logsOf(),
      ...answers.map((text): [string, string] => ['an answer', text]),
    ]
    const found = texts.flatMap(([where, text]) =>
      [planted, webhookSecret].filter((one) => formsOf(one).some((form) => text.includes(form))).map(() => where),
    )
    expect(found).to.deep.equal([])
  })

  it('of join tokens occur only in the answer that returns them', async () => {
    const made = await expectCall<{ id: string }>(201, 'POST', '/clusters', { name: uniqueName('canary') })
    const path = `/clusters/${made.body.id}`
    const answers: string[] = []
    const record = async (...given: Parameters<typeof call>) => {
      const answer = await call(...given)
      answers.push(answer.text, JSON.stringify([...answer.headers]))
    }
    type Token = { token: string; command: string }
    const tokens: string[] = []
    for (const body of [{}, { reusable: true }])
      tokens.push((await expectCall<Token>(201, 'POST', `${path}/join-token`, body)).body.token)
    const [token = ''] = tokens
    await record('GET', path)
    await record('GET', `/clusters?filter=name:eq:${token}`)
    await record('PUT', path, { region: token.repeat(3) })
    await record('POST', `${path}/join-token`, { token })
    await record('GET', path, undefined, { token })
    await record('GET', `/clusters/${token}`, undefined, { token })
    const { spec } = await admin.get<PlatformCluster & KubeObject>(PlatformCluster.resource, { name: made.body.id })
    expect(spec.joinTokens).to.have.length(tokens.length)
    await record('POST', `${path}/agent/revoke`)
    await record('DELETE', path)
    const texts: [string, string][] = [
      ['the record of the cluster', JSON.stringify(spec)],
      ...(await objectsOf(admin, SYSTEM_NAMESPACE)),
      ...logsOf(),
      // A missing name is repeated to its sender.
      ...answers.filter((text) => !text.includes('was not found')).map((text): [string, string] => ['an answer', text]),
    ]
    const found = texts.flatMap(([where, text]) =>
      tokens.filter((one) => formsOf(one).some((form) => text.includes(form))).map(() => where),
    )
    expect(found).to.deep.equal([])
  })

  it('of access keys and sessions occur only in Secrets and in the answer that returns them', async function () {
    if (testPlatform().store === undefined) {
      console.log('    skipped: no object store runs here, because no Go was found that builds it')
      this.skip()
    }
    const boundary = await makeBoundary()
    const group = await makeGroup(boundary.id)
    const resources = `/boundaries/${boundary.id}/resourcegroups/${group.name}/resources`
    const path = `${resources}/objectstorageaccounts/${uniqueName('canary')}`
    const answers: string[] = []
    const record = async (...given: Parameters<typeof call>) => {
      const answer = await call(...given)
      answers.push(answer.text, JSON.stringify([...answer.headers]))
    }
    await expectCall(201, 'POST', path, {})
    await until('the account runs', async () => (await call<{ status: string }>('GET', path)).body.status === 'Running')
    await expectCall(201, 'POST', `${path}/buckets`, { name: 'one' })
    type Pair = { accessKeyId: string; secretAccessKey: string }
    const key = (await expectCall<Pair>(201, 'POST', `${path}/accesskeys`, {})).body
    const session = (await expectCall<Pair>(201, 'POST', `${path}/sts/sessions`, {})).body
    for (const { accessKeyId, secretAccessKey } of [key, session]) {
      const client = s3Client(testPlatform().store?.endpoint ?? '', { accessKeyId, secretAccessKey })
      await statusOf(client.send(new ListBucketsCommand({})))
      client.destroy()
    }
    for (const tail of ['', '/accesskeys', '/buckets', '/buckets/one', '/audit', '/usage'])
      await record('GET', path + tail)
    await record('POST', `${path}/accesskeys`, { secretAccessKey: key.secretAccessKey })
    await record('PATCH', path, { defaultVersioning: key.secretAccessKey })
    await record('GET', path, undefined, { token: session.secretAccessKey })
    await record('DELETE', `${path}/buckets/one`)
    await recordActivity(path, 5, record)
    const ours = [key.secretAccessKey, session.secretAccessKey, testPlatform().store?.secretAccessKey ?? '']
    expect(ours.every((secret) => secret.length > 20)).to.equal(true)
    const texts: [string, string][] = [
      ...(await objectsOf(admin, groupNamespace(boundary.id, group.name))),
      ...logsOf(),
      ...textsIn(testPlatform().store?.accessLog ?? ''),
      ...answers.map((text): [string, string] => ['an answer', text]),
    ]
    const found = texts.flatMap(([where, text]) =>
      ours.filter((secret) => formsOf(secret).some((form) => text.includes(form))).map(() => where),
    )
    expect(found).to.deep.equal([])
  })

  it('of vaults occur only in reads of a single secret', async () => {
    const at = await makeVault()
    const [old, value, sent] = [canary(), canary(), canary()]
    const answers: string[] = []
    const record = async (...given: Parameters<typeof call>) => {
      const answer = await call(...given)
      answers.push(answer.text, JSON.stringify([...answer.headers]))
      return answer
    }
    /** Of Secret objects too, because their contents are encrypted. The purge removes them. */
    const secretTexts = async () => {
      const { items } = await admin.list<KubeObject & { data?: Record<string, string> }>(builtin.secret, {
        namespace: at.namespace,
      })
      return items.flatMap((item) => {
        const where = `secrets/${item.metadata.name}`
        const texts = [JSON.stringify(item), ...Object.values(item.data ?? {})]
        return texts.flatMap((text): [string, string][] => [
          [where, text],
          [where, decoded(text)],
        ])
      })
    }
    const path = at.secret('Guarded')
    await record('PUT', path, { value: old })
    await record('PUT', path, { value })
    expect((await call<{ value: string }>('GET', path)).body.value).to.equal(value)
    expect((await call<{ value: string }>('GET', `${path}/versions/1`)).body.value).to.equal(old)

    // In refused bodies, in wrong places, and in every answer that is not a read.
    await record('PUT', path, { value: sent, nonsense: 1 })
    await record('PUT', path, { value: sent, enabled: sent })
    await record('PUT', path, { value: sent, expiresOn: sent })
    await record('PUT', path, `{"value":"${sent}"`)
    await record('PUT', at.secret('bad!name'), { value: sent })
    await record('PUT', path, { value: sent.repeat(3000) })
    await record('PATCH', at.path, { tags: { 'freehold.dev/x': sent } })
    await record('POST', `${at.path}-other`, { value: sent })
    await record('GET', `${at.path}/secrets?search=guarded`)
    await record('GET', `${at.path}/secrets?filter=value:eq:${value}`)
    await record('GET', `${path}/versions`)
    await record('GET', `${path}/versions/3`)
    const stored = await secretTexts()
    expect(stored.filter(([where]) => /-v[12]$/.test(where))).to.not.be.empty
    await record('DELETE', path)
    await record('GET', path)
    await record('PUT', path, { value: sent })
    await record('POST', `${path}/recover`)
    await record('PUT', path, { value: sent, enabled: false })
    await record('GET', path)
    await record('DELETE', path)
    await record('POST', `${path}/purge`)

    const ours = [old, value, sent]
    const texts: [string, string][] = [
      ...(await objectsOf(admin, at.namespace)),
      ...logsOf(),
      ...answers.map((text): [string, string] => ['an answer', text]),
      ...stored,
      ...(await secretTexts()),
    ]
    const found = texts.flatMap(([where, text]) =>
      ours.filter((each) => formsOf(each).some((form) => text.includes(form))).map((each) => `${each} in ${where}`),
    )
    expect(found).to.deep.equal([])
  })

  it('are refused to Readers', async () => {
    const boundary = await makeBoundary()
    const group = await makeGroup(boundary.id)
    const path = `/boundaries/${boundary.id}/resourcegroups/${group.name}/resources/vectorclusters/guarded`
    await expectCall(201, 'POST', path, {})
    const { token } = await (await import('../worlds/platform.ts')).makeCaller({ Reader: `/boundaries/${boundary.id}` })
    expect((await call('GET', path, undefined, { token })).status).to.equal(200)
    expect((await call('GET', `${path}/apikey`, undefined, { token })).status).to.equal(403)
    expect((await call('POST', `${path}/apikey/rotate`, undefined, { token })).status).to.equal(403)
    const relational = path.replace('vectorclusters', 'relationalclusters')
    await expectCall(201, 'POST', relational, {})
    expect((await call('GET', relational, undefined, { token })).status).to.equal(200)
    for (const route of ['connectionstring', 'connectionstring/external']) {
      expect((await call('GET', `${relational}/${route}`, undefined, { token })).status).to.equal(403)
    }
  })
})

const decoded = (text: string) => Buffer.from(text, 'base64').toString('latin1')

/**
 * The passwords and the product key of a SQL Server of a paid edition, searched in everything that can be read of it.
 */
async function sqlSecrets(
  admin: KubeClient,
  boundaryId: string,
  group: string,
  record: (...given: Parameters<typeof call>) => Promise<unknown>,
): Promise<string[]> {
  const path = `/boundaries/${boundaryId}/resourcegroups/${group}/resources/sqlclusters/ledger`
  const productKey = 'CANAR-YCANA-RYCAN-ARYCA-NARY7'
  await expectCall(201, 'POST', path, { acceptEula: true, edition: 'Standard' })
  await record('POST', `${path}/license`, { productKey })
  await until('it runs', async () => (await call<{ status: string }>('GET', path)).body.status === 'Running')
  await record('GET', path)
  await record('GET', `${path}/health`)
  await record('GET', `${path}/editor/schemas`)
  await record('POST', `${path}/editor/query`, { sql: 'select 1', execute: true })
  await record('GET', `${path}/editor/history`)
  const ref = { namespace: groupNamespace(boundaryId, group), name: sqlNames('ledger').logins }
  return [productKey, ...(await entriesOf(admin, ref)).map(([, text]) => text)]
}

/** The logins of the editor, after it was used. */
async function relationalSecrets(
  admin: KubeClient,
  namespace: string,
  path: string,
  record: (...given: Parameters<typeof call>) => Promise<unknown>,
): Promise<string[]> {
  await record('GET', `${path}/editor/schemas`)
  await record('POST', `${path}/editor/query`, { sql: 'select 1', execute: true })
  await record('GET', `${path}/editor/history`)
  const { reader, writer } = relationalNames(path.split('/').at(-1) ?? '')
  const found = await Promise.all([reader, writer].map((name) => entriesOf(admin, { namespace, name })))
  return found.flat().flatMap(([entry, text]) => (entry === 'password' ? [text] : []))
}

async function entriesOf(admin: KubeClient, ref: { namespace: string; name: string }): Promise<[string, string][]> {
  const { data } = await admin.get<KubeObject & { data: Record<string, string> }>(builtin.secret, ref)
  return Object.entries(data).map(([entry, text]) => [entry, Buffer.from(text, 'base64').toString('utf8')])
}

/** Every object of the group and of the platform except Secrets, with all its metadata. */
async function objectsOf(admin: KubeClient, home: string): Promise<[string, string][]> {
  const namespaced = Object.values(builtin).filter(
    (value): value is Resource => typeof value === 'object' && 'plural' in value && value.namespaced,
  )
  const resources = [
    ...namespaced.filter(({ plural }) => plural !== 'secrets'),
    ...KINDS.map((kind) => kind.resource),
    ...POSTGRESQL_RESOURCES,
  ]
  const texts: [string, string][] = []
  for (const resource of resources) {
    const { items } = await admin.list<KubeObject>(resource, resource.namespaced ? { namespace: home } : {})
    texts.push(
      ...items.map((item): [string, string] => [`${resource.plural}/${item.metadata.name}`, JSON.stringify(item)]),
    )
  }
  return texts
}

const logsOf = () => textsIn(join(testPlatform().folder, 'logs'))

function textsIn(folder: string): [string, string][] {
  return readdirSync(folder).map((name) => [join(folder, name), readFileSync(join(folder, name), 'utf8')])
}

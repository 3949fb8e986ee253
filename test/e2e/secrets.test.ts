import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { groupNamespace } from '../../src/core/names.ts'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import { sqlNames } from '../../src/core/sql.ts'
import { KINDS } from '../../src/crds/index.ts'
import * as builtin from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { call, expectCall, makeBoundary, makeGroup, until } from '../make/platform.ts'
import { administrator, makeServiceAccount, testPlatform } from '../make/tenant.ts'

/** Where a secret might be found again: as it is, and in the forms that careless code writes it in. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  return [secret, bytes.toString('base64').replace(/=+$/, ''), bytes.toString('hex'), encodeURIComponent(secret)]
}

describe('secrets', () => {
  let admin: KubeClient
  before(async () => {
    admin = await administrator()
  })
  after(() => admin.close())

  it('of databases and service accounts are in Secret objects and in the one answer that is for them, nowhere else', async () => {
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
    const key = (await expectCall<{ apiKey: string; readOnlyApiKey: string }>(200, 'GET', `${path}/apikey`)).body
    const rotated = (await expectCall<{ pendingApiKey: string }>(200, 'POST', `${path}/apikey/rotate`)).body
    const account = await makeServiceAccount(admin, 'Canary')
    const sql = await sqlSecrets(admin, boundary.id, group.name, record)

    // Secrets in places where they do not belong, to see whether an answer or a log repeats them.
    await record('POST', `${path}-other`, { apiKey: planted })
    await record('PATCH', path, { computePlan: planted })
    await record('GET', `${path}?filter=name:eq:${planted}&nonsense=${planted}`)
    await record('GET', path, undefined, { token: planted })
    await record('PUT', `${path}/actions/stop`)
    await record('GET', path)
    await record('GET', `${path}/health`)
    await record('GET', `${path}/connectioninfo`)
    await record('GET', path.replace('/guarded', ''))

    const ours = [key.apiKey, key.readOnlyApiKey, rotated.pendingApiKey, account.clientSecret, account.token, ...sql]
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
    expect(inLogs, 'what callers send astray is not logged').to.deep.equal([])
  })

  it('are not shown to who may only read', async () => {
    const boundary = await makeBoundary()
    const group = await makeGroup(boundary.id)
    const path = `/boundaries/${boundary.id}/resourcegroups/${group.name}/resources/vectorclusters/guarded`
    await expectCall(201, 'POST', path, {})
    const { token } = await (await import('../make/platform.ts')).makeCaller({ Reader: `/boundaries/${boundary.id}` })
    expect((await call('GET', path, undefined, { token })).status).to.equal(200)
    expect((await call('GET', `${path}/apikey`, undefined, { token })).status).to.equal(403)
    expect((await call('POST', `${path}/apikey/rotate`, undefined, { token })).status).to.equal(403)
  })
})

/** The passwords and the product key of a SQL Server of a paid edition, asked for what it shows in every way. */
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
  const found = await admin.get<KubeObject & { data: Record<string, string> }>(builtin.secret, ref)
  const passwords = Object.values(found.data).map((text) => Buffer.from(text, 'base64').toString('utf8'))
  return [productKey, ...passwords]
}

/** Every object of the group and of the platform but Secrets, as the API server tells it with all its metadata. */
async function objectsOf(admin: KubeClient, home: string): Promise<[string, string][]> {
  const namespaced = Object.values(builtin).filter(
    (value): value is Resource => typeof value === 'object' && 'plural' in value && value.namespaced,
  )
  const resources = [...namespaced.filter(({ plural }) => plural !== 'secrets'), ...KINDS.map((kind) => kind.resource)]
  const texts: [string, string][] = []
  for (const resource of resources) {
    const { items } = await admin.list<KubeObject>(resource, resource.namespaced ? { namespace: home } : {})
    texts.push(
      ...items.map((item): [string, string] => [`${resource.plural}/${item.metadata.name}`, JSON.stringify(item)]),
    )
  }
  return texts
}

function logsOf(): [string, string][] {
  const folder = join(testPlatform().folder, 'logs')
  return readdirSync(folder).map((name) => [`logs/${name}`, readFileSync(join(folder, name), 'utf8')])
}

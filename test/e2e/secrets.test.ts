import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ListBucketsCommand } from '@aws-sdk/client-s3'
import { expect } from 'chai'
import { groupNamespace } from '../../src/core/names.ts'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import { KINDS } from '../../src/crds/index.ts'
import * as builtin from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { call, expectCall, makeBoundary, makeGroup, uniqueName, until } from '../make/platform.ts'
import { s3Client, statusOf } from '../make/s3Client.ts'
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

    const ours = [key.apiKey, key.readOnlyApiKey, rotated.pendingApiKey, account.clientSecret, account.token]
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

  it('of access keys and sessions are in their Secrets and in the one answer that is for them, nowhere else', async function () {
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
    const ours = [key.secretAccessKey, session.secretAccessKey, testPlatform().store?.secretAccessKey ?? '']
    expect(ours.every((secret) => secret.length > 20)).to.equal(true)
    const texts: [string, string][] = [
      ...(await objectsOf(admin, groupNamespace(boundary.id, group.name))),
      ...logsOf(),
      ['the access log', readFileSync(testPlatform().store?.accessLog ?? '', 'utf8')],
      ...answers.map((text): [string, string] => ['an answer', text]),
    ]
    const found = texts.flatMap(([where, text]) =>
      ours.filter((secret) => formsOf(secret).some((form) => text.includes(form))).map(() => where),
    )
    expect(found).to.deep.equal([])
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

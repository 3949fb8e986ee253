import { expect } from 'chai'
import { silentProgress } from '../../scripts/controlplane/index.ts'
import { installRelationalEngine } from '../../scripts/node/relationalEngine.ts'
import { groupNamespace } from '../../src/core/names.ts'
import { pod } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { editorRoutesSuite, POSTGRESQL_EDITOR } from '../suites/editorRoutesSuite.ts'
import { call, expectCall, makeBoundary, makeGroup, uniqueName, until } from '../worlds/platform.ts'
import { administrator, testPlatform } from '../worlds/tenant.ts'
import { logOf, podIn, shellPod, testNode } from './shell.ts'

type Database = { status: string; statusMessage: string; readyReplicas: number }

describe('relational database on a node, by CloudNativePG', () => {
  let client: KubeClient
  let boundaryId: string
  let namespace: string
  /** A namespace of another boundary. */
  let elsewhere: string
  let path: string
  let version: string

  before(async () => {
    client = await administrator()
    const kubectl = testPlatform().kubectlPath
    const home = { node: await testNode(), client, kubectl }
    version = await installRelationalEngine(home, { progress: silentProgress, signal: undefined })
    boundaryId = (await makeBoundary()).id
    const group = (await makeGroup(boundaryId)).name
    namespace = groupNamespace(boundaryId, group)
    const other = await makeBoundary()
    elsewhere = groupNamespace(other.id, (await makeGroup(other.id)).name)
    path = `/boundaries/${boundaryId}/resourcegroups/${group}/resources/relationalclusters/orders`
    await expectCall(201, 'POST', path, { databaseName: 'shop', engineVersion: version })
    await untilServed()
  })
  after(() => client?.close())

  const untilIt = (sentence: string, is: (database: Database) => boolean) =>
    until(`it ${sentence}`, async () => {
      const { body } = await expectCall<Database>(200, 'GET', path)
      if (is(body)) return body
      throw new Error(`${body.status}: ${body.statusMessage}`)
    })
  async function untilServed(): Promise<void> {
    await untilIt('runs', ({ status }) => status === 'Running')
    await until('the logins are made', async () => (await call('GET', `${path}/editor/schemas`)).status === 200)
  }

  /** The output of psql in a pod of the namespace, with the string from REST. */
  async function ask(from: string, statement: string): Promise<{ succeeded: boolean; text: string }> {
    const { body } = await expectCall<{ connectionString: string }>(200, 'GET', `${path}/connectionstring`)
    const command = `PGCONNECT_TIMEOUT=10 psql '${body.connectionString}' -qAtc '${statement}' 2>&1`
    const image = `ghcr.io/cloudnative-pg/postgresql:${version}`
    const made = shellPod(uniqueName('client'), from, command, { image })
    await client.create(pod, made)
    const ref = { namespace: from, name: made.metadata.name }
    const ended = await podIn(client, ref, 'Succeeded', 'Failed')
    return { succeeded: ended.status?.phase === 'Succeeded', text: await logOf(client, ref) }
  }

  it('accepts clients of its group by the connection string, and no others', async () => {
    const made = await ask(namespace, 'CREATE TABLE kept (id INT PRIMARY KEY); INSERT INTO kept VALUES (42)')
    expect(made).to.deep.equal({ succeeded: true, text: '' })
    expect(await ask(namespace, 'SELECT id FROM kept')).to.deep.equal({ succeeded: true, text: '42\n' })
    const { succeeded, text } = await ask(elsewhere, 'SELECT 1')
    expect(succeeded, text).to.equal(false)
    expect(text).to.match(/timeout|refused/)
  })

  it('cancels a query over temp_file_limit, also of a reader, and goes on', async () => {
    const large = `SELECT count(*) FROM (SELECT g FROM generate_series(1, 900000) g ORDER BY repeat(g::text, 300)) s`
    const { body } = await call('POST', `${path}/editor/query`, { sql: large, execute: true })
    expect(JSON.stringify(body)).to.contain('temp_file_limit')
    expect(await ask(namespace, large)).to.deep.include({ succeeded: false })
    expect(await ask(namespace, 'SHOW temp_file_limit')).to.deep.equal({ succeeded: true, text: '512MB\n' })
  })

  it('keeps its rows over restart, stop and start', async () => {
    await expectCall(202, 'PUT', `${path}/actions/restart`)
    await untilIt('restarts', ({ status }) => status !== 'Running')
    await untilServed()
    expect(await ask(namespace, 'SELECT id FROM kept')).to.deep.equal({ succeeded: true, text: '42\n' })
    await expectCall(202, 'PUT', `${path}/actions/stop`)
    await untilIt('is stopped', ({ status }) => status === 'Stopped')
    await expectCall(202, 'PUT', `${path}/actions/start`)
    await untilServed()
    expect(await ask(namespace, 'SELECT id FROM kept')).to.deep.equal({ succeeded: true, text: '42\n' })
    expect(await ask(namespace, 'DROP TABLE kept')).to.deep.equal({ succeeded: true, text: '' })
  })

  it('scales to two instances, and back to one', async () => {
    await expectCall(202, 'POST', `${path}/scale`, { targetScale: 2 })
    await untilIt('has two instances', ({ status, readyReplicas }) => status === 'Running' && readyReplicas === 2)
    await expectCall(202, 'POST', `${path}/scale`, { targetScale: 1 })
    await untilIt('has one instance', ({ status, readyReplicas }) => status === 'Running' && readyReplicas === 1)
  })

  describe('editor', () => {
    editorRoutesSuite(POSTGRESQL_EDITOR, () => ({ boundaryId, path }))
  })
})

import { expect } from 'chai'
import { POD_RANGE } from '../../scripts/node/addresses.ts'
import { MARIADB } from '../../scripts/node/library.ts'
import { sqlHost, sqlNames } from '../../src/contracts/sql.ts'
import { groupNamespace } from '../../src/core/names.ts'
import { pod } from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { editorRoutesSuite, MARIADB_EDITOR } from '../suites/editorRoutesSuite.ts'
import { call, expectCall, makeBoundary, makeGroup, uniqueName, until } from '../worlds/platform.ts'
import { administrator } from '../worlds/tenant.ts'
import { logOf, podIn, pushImages, shellPod } from './shell.ts'

type Connection = { connectionString: string }

describe('SQL instance on a node', () => {
  let client: KubeClient
  let boundaryId: string
  let namespace: string
  /** A namespace of another boundary. */
  let elsewhere: string
  let path: string

  before(async () => {
    client = await administrator()
    await pushImages(MARIADB)
    boundaryId = (await makeBoundary()).id
    const group = (await makeGroup(boundaryId)).name
    namespace = groupNamespace(boundaryId, group)
    const other = await makeBoundary()
    elsewhere = groupNamespace(other.id, (await makeGroup(other.id)).name)
    path = `/boundaries/${boundaryId}/resourcegroups/${group}/resources/sqlclusters/orders`
    await expectCall(201, 'POST', path, { engine: 'MariaDb', databaseName: 'shop' })
    await untilServed()
  })
  after(() => client?.close())

  const untilStatus = (wanted: string) =>
    until(`it is ${wanted}`, async () => {
      const { body } = await expectCall<{ status: string; statusMessage: string }>(200, 'GET', path)
      if (body.status === wanted) return body
      throw new Error(`${body.status}: ${body.statusMessage}`)
    })
  async function untilServed(): Promise<void> {
    await untilStatus('Running')
    await until('the logins are made', async () => (await call('GET', `${path}/editor/schemas`)).status === 200)
  }

  /** The output of a MariaDB client in a pod of the namespace, with the string from REST. */
  async function ask(from: string, statement: string): Promise<{ succeeded: boolean; text: string }> {
    const { body } = await expectCall<Connection>(200, 'GET', `${path}/connectionstring`)
    const { hostname, port, username, password, pathname } = new URL(body.connectionString)
    const words = [
      `--host=${hostname}`,
      `--port=${port}`,
      `--user=${username}`,
      `--password=${decodeURIComponent(password)}`,
    ]
    const command = `mariadb --no-defaults --connect-timeout=10 --skip-column-names ${words.join(' ')} --execute='${statement}' ${pathname.slice(1)} 2>&1`
    const made = shellPod(uniqueName('client'), from, command, { image: `docker.io/${MARIADB.name}` })
    await client.create(pod, made)
    const ref = { namespace: from, name: made.metadata.name }
    const ended = await podIn(client, ref, 'Succeeded', 'Failed')
    return { succeeded: ended.status?.phase === 'Succeeded', text: await logOf(client, ref) }
  }

  const engine = () => client.get(pod, { namespace, name: `${sqlNames('orders').workload}-0` })

  it('accepts clients of its group by the connection string, and no others', async () => {
    const made = await ask(namespace, 'CREATE TABLE kept (id INT PRIMARY KEY); INSERT INTO kept VALUES (42)')
    expect(made).to.deep.equal({ succeeded: true, text: '' })
    expect(await ask(namespace, 'SELECT id FROM kept')).to.deep.equal({ succeeded: true, text: '42\n' })
    const { succeeded, text } = await ask(elsewhere, 'SELECT 1')
    expect(succeeded, text).to.equal(false)
    expect(text).to.contain("Can't connect").and.to.contain(sqlHost(namespace, 'orders'))
  })

  it('accepts clients from elsewhere only while public, and only from allowedCidrs', async () => {
    const untilReached = (wanted: boolean) =>
      until(`a client elsewhere ${wanted ? 'connects' : 'does not connect'}`, async () => {
        const { succeeded, text } = await ask(elsewhere, 'SELECT 1')
        if (succeeded === wanted) return true
        throw new Error(text)
      })
    await expectCall(200, 'PATCH', path, { enableLoadBalancer: true })
    await untilReached(true)
    await expectCall(200, 'PATCH', path, { allowedCidrs: '203.0.113.0/24' })
    await untilReached(false)
    await expectCall(200, 'PATCH', path, { allowedCidrs: POD_RANGE })
    await untilReached(true)
    await expectCall(200, 'PATCH', path, { enableLoadBalancer: false, allowedCidrs: null })
    await untilReached(false)
  })

  it('stores temporary files on its volume', async () => {
    const place = await ask(namespace, 'SELECT @@tmpdir')
    expect(place).to.deep.equal({ succeeded: true, text: '/var/lib/mysql\n' })
    const { limits } = ((await engine()).spec as { containers: [{ resources: { limits: object } }] }).containers[0]
      .resources
    expect(limits).to.include({ 'ephemeral-storage': '4Gi' })
  })

  it('keeps its rows over restart, stop and start', async () => {
    const { uid } = (await engine()).metadata
    await expectCall(202, 'PUT', `${path}/actions/restart`)
    await until('another pod runs', async () => (await engine()).metadata.uid !== uid)
    await untilServed()
    expect(await ask(namespace, 'SELECT id FROM kept')).to.deep.equal({ succeeded: true, text: '42\n' })
    await expectCall(202, 'PUT', `${path}/actions/stop`)
    await untilStatus('Stopped')
    await expectCall(202, 'PUT', `${path}/actions/start`)
    await untilServed()
    expect(await ask(namespace, 'SELECT id FROM kept')).to.deep.equal({ succeeded: true, text: '42\n' })
    expect(await ask(namespace, 'DROP TABLE kept')).to.deep.equal({ succeeded: true, text: '' })
  })

  describe('editor', () => {
    editorRoutesSuite(MARIADB_EDITOR, () => ({ boundaryId, path }))
  })
})

import { expect } from 'chai'
import { REGISTRY } from '../../scripts/node/addresses.ts'
import { DOMAIN } from '../../scripts/platform.ts'
import { call, expectCall, makeBoundary, makeGroup, until } from '../worlds/platform.ts'
import { testPlatform } from '../worlds/tenant.ts'
import { servedThroughout } from './load.ts'
import { PublicHosts } from './publicHosts.ts'
import { pushImages, pushShell, SHELL_IMAGE } from './shell.ts'
import { WORKER } from './testImages.ts'

type Instance = { status: string; statusMessage: string; publicUrl: string | null; components: object[] }

/** Atomically writes the page that the web server serves: a page truncated while it is read would end its answer. */
const SCRIPT = `
  const { renameSync, writeFileSync } = require('node:fs')
  writeFileSync('/srv/site/.next', process.env.GREETING)
  renameSync('/srv/site/.next', '/srv/site/index.html')
  console.log('wrote ' + process.env.GREETING)
  setInterval(() => undefined, 1000)`

/** A web server of Debian and a worker in Node, on one volume. */
const components = (greeting: string) => [
  {
    name: 'worker',
    image: `${REGISTRY}/${WORKER.name}`,
    command: ['node', '-e', SCRIPT],
    env: [{ name: 'GREETING', value: greeting }],
    mounts: [{ volume: 'site', path: '/srv/site' }],
    gracePeriodSeconds: 1,
  },
  {
    name: 'web',
    image: SHELL_IMAGE,
    env: [{ name: 'GREETING', value: greeting }],
    command: ['busybox', 'httpd', '-f', '-p', '8080', '-h', '/srv/site'],
    ports: [{ name: 'http', port: 8080 }],
    mounts: [{ volume: 'site', path: '/srv/site', readOnly: true }],
    readinessProbe: { kind: 'Http', path: '/index.html', periodSeconds: 1 },
    dependsOn: ['worker'],
    gracePeriodSeconds: 1,
  },
]

/** @everyRun */
describe('container instance on a node', () => {
  let hosts: PublicHosts
  let path: string

  before(async () => {
    await pushShell()
    await pushImages(WORKER)
    hosts = new PublicHosts()
    const { id } = await makeBoundary()
    const { name } = await makeGroup(id)
    path = `/boundaries/${id}/resourcegroups/${name}/resources/containerinstances/site`
  })
  after(() => hosts?.close())

  const untilPage = (url: string, wanted: string) =>
    until(`the page says ${wanted}`, async () => {
      const { status, text } = await hosts.get(url)
      if (status === 200 && text === wanted) return true
      throw new Error(`${status} ${text.slice(0, 200)}`)
    })
  const untilRunning = () =>
    until('it is running and has a URL', async () => {
      const { body } = await expectCall<Instance>(200, 'GET', path)
      if (body.status === 'Running' && body.publicUrl !== null) return body.publicUrl
      throw new Error(`${body.status}: ${body.statusMessage}`)
    })

  it('runs a web server and a worker, and answers at its URL', async () => {
    const volumes = [{ name: 'site', kind: 'Persistent', size: '1Gi' }]
    const given = { computePlan: 'container-nano', components: components('good morning'), volumes, isPublic: true }
    await expectCall(201, 'POST', path, given)
    const url = new URL(await untilRunning())
    expect(url.hostname.endsWith(`.${DOMAIN}`), url.hostname).to.equal(true)
    expect(url.port).to.equal(String(testPlatform().gateway?.gatewayHttps))
    await untilPage(url.href, 'good morning')
  })

  it('uploads, downloads, moves and removes files by REST', async () => {
    const url = await untilRunning()
    const at = (rest: string) => `${path}/files${rest}`
    const inSite = 'component=worker&path=/srv/site'
    const bytes = { headers: { 'content-type': 'application/octet-stream' } }
    expect((await call('POST', at(`/upload?${inSite}&name=note.txt`), 'sent by REST', bytes)).status).to.equal(201)
    await untilPage(new URL('/note.txt', url).href, 'sent by REST')
    expect((await call('GET', at(`?${inSite}`))).text)
      .to.include('"note.txt"')
      .and.to.include('"index.html"')
    const note = `component=worker&path=/srv/site/note.txt`
    expect((await call('GET', at(`/download?${note}`))).text).to.equal('sent by REST')
    const part = await call('GET', at(`/download?${note}`), undefined, { headers: { range: 'bytes=8-' } })
    expect([part.status, part.text]).to.deep.equal([206, 'REST'])
    expect((await call('GET', at(`/archive?${inSite}`))).headers.get('content-type')).to.match(/gzip/)
    await expectCall(201, 'POST', at('/directory'), { component: 'worker', path: '/srv/site/old' })
    const move = { component: 'worker', from: '/srv/site/note.txt', to: '/srv/site/old/note.txt' }
    expect((await call('POST', at('/move'), move)).status).to.equal(200)
    await untilPage(new URL('/old/note.txt', url).href, 'sent by REST')
    expect((await call('DELETE', at('?component=worker&path=/srv/site/old&recursive=true'))).status).to.equal(204)
    await until(
      'it is served no more',
      async () => (await hosts.get(new URL('/old/note.txt', url).href)).status === 404,
    )
    const outside = await call('GET', at('/download?component=worker&path=/srv/site/../../etc/passwd'))
    expect([outside.status, outside.body.code]).to.deep.equal([400, 'PATH_NOT_ALLOWED'])
  })

  it('serves the page of a new revision of the worker', async () => {
    await expectCall(200, 'PATCH', path, { components: components('good evening') })
    await untilPage(await untilRunning(), 'good evening')
  })

  it('rolls back to its first revision without a failed request at fifty a second', async () => {
    const url = await untilRunning()
    await servedThroughout(hosts, url, async () => {
      await expectCall(200, 'POST', `${path}/revisions/1/rollback`)
      await untilPage(url, 'good morning')
      await untilRunning()
    })
  })

  it('returns 404 at its URL once it is deleted', async () => {
    const url = await untilRunning()
    expect((await call('DELETE', path)).status).to.be.oneOf([202, 204])
    await until('the Gateway has let go of its host', async () => (await hosts.get(url)).status === 404)
  })
})

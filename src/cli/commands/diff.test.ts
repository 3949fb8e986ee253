import { writeFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { expect } from 'chai'
import { CommandsAtServer } from '../../../test/worlds/commandsAtServer.ts'
import { describeFieldChanges } from './diff.ts'

describe('describeFieldChanges', () => {
  for (const [sentence, wanted, record, lines] of [
    ['says that a missing object would be created', { replicas: 3 }, undefined, ['+ it would be created']],
    ['returns nothing if all fields are equal', { replicas: 3 }, { replicas: 3, status: 'Running' }, []],
    [
      'returns each field that differs',
      { replicas: 3, tags: { a: 'b' } },
      { replicas: 1, tags: {} },
      ['~ replicas: 1 -> 3', '~ tags: {} -> {"a":"b"}'],
    ],
    [
      'ignores a field that only differs in defaults',
      { quota: { cpu: '1' } },
      { quota: { cpu: '1', memory: null } },
      [],
    ],
    ['returns a list that differs in one item', { list: [1, 2] }, { list: [1] }, ['~ list: [1] -> [1,2]']],
    [
      'ignores an item that only differs in defaults',
      { env: [{ name: 'STAGE', value: 'production' }] },
      { env: [{ name: 'STAGE', value: 'production', secret: null, output: null }] },
      [],
    ],
    [
      'returns a list whose item differs in a field',
      { env: [{ name: 'A', value: '2' }] },
      { env: [{ name: 'A', value: '1', secret: null }] },
      ['~ env: [{"name":"A","value":"1","secret":null}] -> [{"name":"A","value":"2"}]'],
    ],
    ['says that REST does not show a field', { onDelete: 'Retain' }, {}, ['? onDelete is not shown by REST']],
  ] as const) {
    it(sentence, () => expect(describeFieldChanges(wanted, record)).to.deep.equal(lines))
  }
})

describe('freehold diff of objects at the API server', () => {
  const BOUNDARY = '5d0f8a52-3c1e-4b7a-9f60-2e8c41d7b391'
  const NAMESPACE = `boundary-${BOUNDARY}`
  const TEMPLATE = `{apiVersion: delivery.freehold.dev/v1alpha1, kind: BlueprintTemplate, metadata: {name: search, namespace: ${NAMESPACE}}, spec: {content: new}}`
  const SECRET = `{apiVersion: v1, kind: Secret, metadata: {name: token, namespace: ${NAMESPACE}}, stringData: {token: hush}}`
  const RESOURCES = [
    { name: 'blueprinttemplates', kind: 'BlueprintTemplate', namespaced: true },
    { name: 'secrets', kind: 'Secret', namespaced: true },
  ]
  const GROUP = { group: 'delivery.freehold.dev', version: 'v1alpha1', kind: 'BlueprintTemplate' }
  const TEMPLATES = {
    'x-kubernetes-group-version-kind': [GROUP],
    properties: { spec: { properties: { content: {} } } },
  }
  // Fields of every object.
  const WHOLE = { ...TEMPLATES.properties, apiVersion: {}, kind: {}, metadata: {} }
  const SCHEMAS = { components: { schemas: { A: { ...TEMPLATES, properties: WHOLE } } } }
  let commands: CommandsAtServer
  let stored: object | undefined
  /** A field that the API server does not know, and paths that the caller may not read. */
  let unknown: string | undefined
  let forbidden: RegExp | undefined
  let writes: (string | undefined)[]

  beforeEach(async () => {
    writes = []
    unknown = undefined
    forbidden = undefined
    const listener: RequestListener = async (request, response) => {
      const answer = (status: number, body: object) =>
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      const { url = '', method } = request
      const found = readable(url)
      if (found !== undefined || method === 'GET')
        return answer(...(found ?? [stored === undefined ? 404 : 200, stored ?? {}]))
      writes.push(request.url)
      const { stringData, ...wanted } = (await json(request)) as { stringData?: object }
      if (unknown !== undefined && !stringData)
        return answer(500, { message: `${unknown}: field not declared in schema` })
      answer(200, { ...wanted, ...(stringData && { data: stringData }), status: {} })
    }
    commands = await CommandsAtServer.start(listener, { setup: (url) => ['--kubernetes-url', url] })
  })
  afterEach(() => commands.stop())

  /** Responses about other things than the requested object. */
  function readable(url: string): [number, object] | undefined {
    if (url.startsWith('/openapi/')) return [200, SCHEMAS]
    if (/v1(alpha1)?$/.test(url)) return [200, { resources: RESOURCES }]
    return forbidden?.test(url) === true ? [403, { message: 'is forbidden' }] : undefined
  }

  const freehold = (...words: string[]) => commands.freehold(...words)
  async function diff(manifest: string): Promise<number> {
    await writeFile(join(commands.home, 'a.yaml'), manifest)
    return freehold('diff', '-f', join(commands.home, 'a.yaml'), '-b', BOUNDARY)
  }

  it('sends a dry run, prints the changed fields and writes nothing', async () => {
    stored = { metadata: { resourceVersion: '1' }, spec: { content: 'old', kept: 1 } }
    expect(await diff(TEMPLATE), commands.said).to.equal(1)
    expect(commands.said).to.equal(
      'BlueprintTemplate "search"\n  ~ content: "old" -> "new"\n  - kept: 1\nSomething would change.\n',
    )
    expect(writes).to.have.length(1)
    expect(writes[0]).to.match(/\/blueprinttemplates\/search\?.*dryRun=All/)
  })

  it('prints nothing if nothing would change', async () => {
    stored = { spec: { content: 'new' }, status: { x: 1 } }
    expect(await diff(TEMPLATE), commands.said).to.equal(0)
    expect(commands.said).to.equal('')
  })

  it('says that a missing object would be created', async () => {
    stored = undefined
    expect(await diff(TEMPLATE)).to.equal(1)
    expect(commands.said).to.include('+ it would be created')
  })

  it('fails with exit code 2 for an unknown field, and suggests another', async () => {
    unknown = '.spec.contnt'
    stored = { spec: { content: 'old' } }
    expect(await diff(TEMPLATE.replace('content:', 'contnt:')), commands.said).to.equal(2)
    expect(commands.said).to.match(
      /a.yaml, document 1: BlueprintTemplate "search": spec.contnt is not a field.*"content"\?\n$/,
    )
  })

  it('prints the changes of readable objects although another is forbidden', async () => {
    forbidden = /secrets/
    stored = { spec: { content: 'old' } }
    expect(await diff(`${SECRET}\n---\n${TEMPLATE}`), commands.said).to.equal(2)
    expect(commands.said)
      .to.include('~ content: "old" -> "new"')
      .and.to.match(/document 1: Secret "token": .*403/)
  })

  it('is preceded by the same check in `apply`, which then writes nothing', async () => {
    unknown = '.spec.contnt'
    stored = { spec: { content: 'old' } }
    await writeFile(join(commands.home, 'a.yaml'), `${SECRET}\n---\n${TEMPLATE.replace('content:', 'contnt:')}`)
    expect(await freehold('apply', '-f', join(commands.home, 'a.yaml'), '-b', BOUNDARY), commands.said).to.equal(2)
    expect(commands.said)
      .to.match(/document 2: .*spec.contnt is not a field/)
      .and.to.include('Nothing was applied.')
    expect(writes.filter((path) => path?.includes('dryRun') !== true)).to.deep.equal([])
  })

  it('prints no value of a Secret', async () => {
    stored = { data: { token: 'whisper' } }
    expect(await diff(SECRET)).to.equal(1)
    expect(commands.said).to.equal('Secret "token"\n  ~ data\nSomething would change.\n')
  })
})

import { mkdir, writeFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { expect } from 'chai'
import { CommandsAtServer } from '../../../test/worlds/commandsAtServer.ts'

const HERE = ['-b', '5d0f8a52-3c1e-4b7a-9f60-2e8c41d7b391', '-g', 'shop']
const IMAGE = 'The image nothing:1 of job report cannot be pulled (ErrImagePull): check its name and tag.'
const QUOTA = 'The quota of the group has no room for another copy of app "web".'

describe('the reason why a resource does not start', () => {
  let commands: CommandsAtServer
  let record: object = {}
  let status: object = {}
  let deployments: object[] = []
  let asked: string[] = []
  let resources: object[] = []

  before(async () => {
    const listener: RequestListener = ({ method, url = '' }, response) => {
      const [path = ''] = url.split('?')
      const isObject = path.startsWith('/apis/') && !path.endsWith('/events')
      if (isObject) asked.push(path)
      const list: { items: object[]; pagination: object } = {
        items: path.endsWith('/deployments') ? deployments : [],
        pagination: { hasNextPage: false },
      }
      if (path.endsWith('/resources')) list.items = resources
      const isList = /\/(deployments|pods|events|jobs|resources)$|build-logs$/.test(path)
      const one = method === 'PUT' ? deployments[0] : record
      const body = isObject ? { status } : isList ? list : one
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    commands = await CommandsAtServer.start(listener, { setup: (url) => ['--kubernetes-url', url] })
  })
  after(() => commands.stop())
  beforeEach(() => {
    asked = []
    resources = []
  })

  const said: [what: string, words: string[], code: number][] = [
    ['get', ['get', 'job', 'report', '-o', 'table'], 0],
    ['describe', ['describe', 'job', 'report'], 0],
    ['wait', ['wait', 'job', 'report', '--timeout', '1s'], 7],
  ]
  for (const [command, words, code] of said)
    it(`is read from the API server by ${command} if the record has none`, async () => {
      record = { name: 'report', status: 'Pending', completedAt: null }
      status = { statusMessage: IMAGE }
      expect(await commands.freehold(...words, ...HERE), commands.said).to.equal(code)
      expect(commands.said).to.include(`Pending: ${IMAGE}`)
    })

  for (const [command, words, code] of said)
    it(`is read from the list of all resources by ${command} if the API server has none`, async () => {
      record = { name: 'report', status: 'Pending', completedAt: null }
      status = {}
      resources = [
        { name: 'report', collection: 'apps', resourceGroup: 'shop', statusMessage: 'Of another.' },
        { name: 'report', collection: 'jobs', resourceGroup: 'shop', statusMessage: IMAGE },
      ]
      expect(await commands.freehold(...words, ...HERE), commands.said).to.equal(code)
      expect(commands.said).to.include(`Pending: ${IMAGE}`)
      if (command === 'wait') {
        expect(commands.said).to.include(`job report is still Pending: ${IMAGE.slice(0, -1)}; it continues`)
        expect(asked).to.deep.equal([])
      }
    })

  it('is not added to the JSON of the record', async () => {
    record = { name: 'report', status: 'Pending' }
    expect(await commands.freehold('get', 'job', 'report', '-o', 'json', ...HERE)).to.equal(0)
    expect(JSON.parse(commands.said)).to.deep.equal(record)
    expect(asked).to.deep.equal([])
  })

  it('is read from the record without a request to the API server', async () => {
    record = { name: 'orders', status: 'Failed', phase: 'PlanDoesNotFit', statusMessage: 'No node has 64 cpu left.' }
    for (const words of [
      ['get', '-o', 'table'],
      ['wait', '--timeout', '1s'],
    ])
      await commands.freehold(words[0] ?? '', 'relc', 'orders', ...words.slice(1), ...HERE)
    expect(commands.said).to.include('Failed: No node has 64 cpu left.')
    expect(asked).to.deep.equal([])
  })

  it('is the phase if there is no message', async () => {
    record = { name: 'safe', status: 'Failed', phase: 'NameOccupied' }
    status = {}
    expect(await commands.freehold('wait', 'secretvault', 'safe', ...HERE)).to.equal(6)
    expect(commands.said).to.include('Failed: NameOccupied')
  })

  it('is read from the object of a function, with its conditions', async () => {
    record = { name: 'hello', namespaceName: 'calls', status: 'Failed', statusMessage: 'It does not start.' }
    status = { conditions: [{ type: 'Stalled', status: 'True', reason: 'QuotaExceeded', message: QUOTA }] }
    expect(await commands.freehold('describe', 'function', 'hello', '-p', 'namespaceName=calls', ...HERE)).to.equal(0)
    expect(asked[0]).to.match(/\/serverlessfunctions\/calls\.hello$/)
    expect(commands.said).to.include('QuotaExceeded').and.to.include(QUOTA)
  })

  it('is printed by deploy after a timeout', async () => {
    const folder = join(commands.home, 'web')
    await mkdir(folder)
    await writeFile(join(folder, 'index.js'), '1')
    record = { name: 'web', sourceKind: 'Upload', status: 'Failed', statusMessage: QUOTA }
    deployments = [{ id: 'd-1', phase: 'Deploying', lastMessage: 'It is rolled out.' }]
    expect(await commands.freehold('deploy', folder, '--timeout', '1s', ...HERE), commands.said).to.equal(7)
    expect(commands.said).to.include('Sending 1 file, ').and.to.include(`it continues without you.\nFailed: ${QUOTA}`)
  })
})

import type { RequestListener } from 'node:http'
import { expect } from 'chai'
import { CommandsAtServer } from '../../test/worlds/commandsAtServer.ts'
import { PlatformApiError } from '../client/index.ts'
import { ownerOfClaim, withKeptVolumes } from './keptData.ts'

describe('volumes kept after a deletion', () => {
  for (const [claim, expected] of [
    ['storage-vc-products-0', { noun: 'vectorclusters', name: 'products' }],
    ['storage-sqli-my-books-0', { noun: 'sqlclusters', name: 'my-books' }],
    ['relc-orders-1', { noun: 'relationalclusters', name: 'orders' }],
    ['relc-orders-1-wal', { noun: 'relationalclusters', name: 'orders' }],
    ['storage-vc-a-name-that-was-cut-0123456789abcdef-0', undefined],
    ['anything', undefined],
  ] as const) {
    it(`are assigned to their resource by ownerOfClaim: ${claim}`, () =>
      expect(ownerOfClaim(claim)).to.deep.equal(expected))
  }

  const refusal = (code: string, ...resources: string[]) =>
    new PlatformApiError(409, new Headers(), JSON.stringify({ error: 'It holds something.', code, resources }))

  it('are named in the refusal with one command for each resource', () => {
    const claims = [
      'persistentvolumeclaims/storage-vc-old-0',
      'persistentvolumeclaims/storage-vc-old-1',
      'vectorclusters/x',
    ]
    const { message } = withKeptVolumes(refusal('DELETION_PROTECTED', ...claims), 'shop', ['-b', 'id']) as Error
    expect(message.split('\n').filter((line) => line.includes('freehold'))).to.deep.equal([
      '  freehold delete vectorclusters old -g shop -b id --kept-data',
    ])
  })

  it('are named with the id of their cluster if they are on another one', () => {
    const claim = 'persistentvolumeclaims/4a7f8a52-7a4e-4b52-9a55-0d6c8f3f9b77/storage-vc-old-0'
    const { message } = withKeptVolumes(refusal('DELETION_PROTECTED', claim), 'shop', []) as Error
    expect(message.split('\n').filter((line) => line.includes('freehold'))).to.deep.equal([
      `  freehold delete vectorclusters old -g shop -d '{"clusterId":"4a7f8a52-7a4e-4b52-9a55-0d6c8f3f9b77"}' --kept-data`,
    ])
  })

  it('change no other error', () => {
    for (const error of [refusal('DELETION_PROTECTED', 'vectorclusters/x'), refusal('IN_USE'), new Error('x')])
      expect(withKeptVolumes(error, 'shop', [])).to.equal(error)
  })
})

describe('freehold delete --kept-data', () => {
  const HERE = ['-b', '5d0f8a52-3c1e-4b7a-9f60-2e8c41d7b391', '-g', 'shop']
  let written: string[] = []
  let entries: object[] = []
  let retainedStorage: object[] = []
  let commands: CommandsAtServer

  before(async () => {
    const listener: RequestListener = ({ method = '', url = '' }, response) => {
      if (method !== 'GET') written.push(`${method} ${url.split('/').slice(-2).join('/')}`)
      const status = method === 'GET' && url.endsWith('/vectorclusters/old') ? 404 : 200
      const body = url.startsWith('/apis/')
        ? { status: { retainedStorage } }
        : { items: url.includes('/activity') ? entries : [], pagination: { hasNextPage: false } }
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    }
    commands = await CommandsAtServer.start(listener, { setup: (url) => ['--kubernetes-url', url] })
  })
  after(() => commands.stop())
  beforeEach(() => {
    written = []
    entries = []
    retainedStorage = []
  })
  const deleteKept = () => commands.freehold('delete', 'vc', 'old', ...HERE, '--kept-data')

  it('creates and deletes nothing if the activity log and the group know no such resource', async () => {
    entries = [{ outcome: 'Refused', channel: 'Rest' }]
    retainedStorage = [{ kind: 'VectorCluster', name: 'another' }]
    expect(await deleteKept()).to.equal(2)
    expect(commands.said).to.match(/There was no "old" of vectorclusters.*Nothing was created or deleted\.\n$/)
    expect(written).to.deep.equal([])
  })

  it('creates and deletes the resource if the group lists its retained storage', async () => {
    retainedStorage = [{ kind: 'VectorCluster', name: 'old', storage: '20Gi' }]
    expect(await deleteKept(), commands.said).to.equal(0)
    expect(written).to.deep.equal(['POST vectorclusters/old', 'DELETE vectorclusters/old'])
  })

  it('creates and deletes the resource if the activity log shows that it existed', async () => {
    entries = [{ outcome: 'Succeeded', channel: 'Rest' }]
    expect(await deleteKept(), commands.said).to.equal(0)
    expect(written).to.have.length(2)
  })
})

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { TEST_CONFIG } from '../../../test/config.ts'
import { hostileRequest, type LoggedRequest, logged } from '../../../test/make/accessLog.ts'
import { SeededRandom } from '../../../test/make/random.ts'
import { fileAudit } from './accessLog.ts'

const FORGED = logged({ target: '/one/FORGED', requester: 'AKIA9', status: 200, error: '-', requestId: 'FORGED' })
const LINE = FORGED.trimEnd()

describe('the audit that an access log tells', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'access-log-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))
  const ask = async (text: string, limit = 100_000) => {
    const path = join(folder, 'access.log')
    await writeFile(path, text)
    return fileAudit(path, 'platform')(new Set(['one']), limit)
  }
  const honest = (requestId: string) =>
    logged({ target: '/one/a', requester: 'AKIA1', requestId, status: 200, error: '-' })

  for (const [what, target] of [
    ['in the segment of the bucket', `/${encodeURIComponent(`a\n${LINE}\nz`)}`],
    ['in a key', `/one/${encodeURIComponent(`a\n${LINE}\nz`)}`],
    ['in the version that is asked for', `/one/a?versionId=${encodeURIComponent(`a\n${LINE}\nz`)}`],
    ['at the end of such a version', `/one/a?x&versionId=${encodeURIComponent(`a\n${LINE.slice(0, -' Yes'.length)}`)}`],
    ['in a target that names the host', `http://one/one/${encodeURIComponent(`a\n${LINE}\nz`)}`],
    [
      'half in the bucket',
      `/${encodeURIComponent('a\nfreehold one')}/${encodeURIComponent(LINE.replace(/.*?] /, ''))}`,
    ],
    ['in a path that is no URI', `/one/%zz${encodeURIComponent(`a\n${LINE}\nz`)}`],
  ] as const)
    it(`has no entry that a client wrote ${what}`, async () => {
      const found = await ask(
        honest('R1') + logged({ target: `${target}`, requestId: 'R2' }) + honest('R3') + honest('R4'),
      )
      const ids = found.map(({ requestId }) => requestId)
      expect(ids).not.to.include('FORGED')
      expect(ids.filter((id) => id !== 'R2')).to.deep.equal(['R4', 'R3', 'R1'])
    })

  it('has the request of another that a client wrote the beginning of', async () => {
    const version = encodeURIComponent(`${'x'.repeat(300)}\n${'x'.repeat(300)}`)
    const begun = LINE.replace('/one/FORGED 200', `/one/FORGED?versionId=${version} 200`).replace(/ - \S+ SigV4.*/, '')
    const before = logged({ target: `/b/x?versionId=${encodeURIComponent(`a\n${begun}`)}` })
    const asked = logged({ target: '/one/FORGED', requester: 'AKIA1', requestId: 'R1' })
    const found = await ask(before + asked)
    expect(found.map(({ requestId }) => requestId)).to.deep.equal(['R1'])
  })

  it('has one entry for a request at most, with what was asked for', async () => {
    for (let seed = 0; seed < TEST_CONFIG.sized(400, 5_000); seed += 1) {
      const { text, requests } = randomLog(new SeededRandom(TEST_CONFIG.seed * 1_000_000 + seed))
      const found = await ask(text)
      const ids = found.map(({ requestId }) => requestId)
      const told = ids.map((id) => requests.find(({ requestId }) => requestId === id))
      for (const [index, { bucket, key = '-', accessKeyId, statusCode }] of found.entries()) {
        const asked = told[index]
        expect(asked, `seed ${seed} tells of ${ids[index]}`).not.to.equal(undefined)
        expect({ path: `/${bucket}/${key}`, accessKeyId, statusCode }, `seed ${seed}`).to.deep.equal({
          ...{ path: pathOf(asked?.target ?? ''), accessKeyId: asked?.requester, statusCode: asked?.status },
        })
      }
      expect(new Set(ids).size, `seed ${seed} tells twice`).to.equal(ids.length)
      const missing = requests.filter(({ requestId = '', target }) => target === '/one/a' && !ids.includes(requestId))
      expect(missing, `seed ${seed} hides`).to.deep.equal([])
    }
  })

  it('reaches as far back whatever the platform asked for since', async () => {
    const own = logged({ target: '/one?list-type=2&versions', requester: 'platform', status: 200, error: '-' })
    const found = await ask(honest('R1') + own.repeat(Math.ceil((20 * 1024 * 1024) / own.length)) + honest('R2'))
    expect(found.map(({ requestId }) => requestId)).to.deep.equal(['R2', 'R1'])
  })

  it('reads no more of what others asked for than it did', async () => {
    const others = logged({ target: '/other/a', requester: 'AKIA2', status: 200, error: '-' })
    const found = await ask(honest('R1') + others.repeat(Math.ceil((9 * 1024 * 1024) / others.length)) + honest('R2'))
    expect(found.map(({ requestId }) => requestId)).to.deep.equal(['R2'])
  })

  it('has nothing of a line that is being written', async () => {
    const cut = logged({ target: `/one/${encodeURIComponent(`a\n${LINE}`)}`, requestId: 'R2' })
    const found = await ask(honest('R1') + cut.slice(0, -1))
    expect(found.map(({ requestId }) => requestId)).not.to.include('FORGED')
  })

  it('goes on where nothing can be meant by what it does not understand', async () => {
    const found = await ask(`log starts 2026\n${honest('R1')}not a line of this log Yes\n${honest('R2')}`)
    expect(found.map(({ requestId }) => requestId)).to.deep.equal(['R2', 'R1'])
  })

  it('believes nothing near a request that it does not understand and that may hold lines', async () => {
    const failed = logged({
      target: `/one/${encodeURIComponent(`a\n${LINE}\nz`)}`,
      status: 500,
      error: `no\n${LINE}\nz`,
    })
    const found = await ask(honest('R1').repeat(400) + failed + honest('R2'))
    const ids = found.map(({ requestId }) => requestId)
    expect(ids).not.to.include('FORGED')
    expect(ids).to.include.members(['R1', 'R2'])
  })
})

/** Requests of everybody, among them of one who knows the log as it was before each, and writes lines of it wherever a client can. */
function randomLog(random: SeededRandom): { text: string; requests: LoggedRequest[] } {
  const requests: LoggedRequest[] = []
  const log: string[] = []
  const add = (request: LoggedRequest) => {
    const whole = { ...request, requestId: `R${requests.length}-${random.below(1_000_000)}` }
    requests.push(whole)
    log.push(logged(whole))
  }
  for (let times = 2 + random.below(5); times > 0; times -= 1) {
    if (random.chance(0.4)) add({ target: '/one/a', requester: 'AKIA1', status: 200, error: '-' })
    else add({ ...hostileRequest(random, 'one', log), requester: 'AKIA2' })
  }
  add({ target: '/one/a', requester: 'AKIA1', status: 200, error: '-' })
  return { text: log.join(''), requests }
}

function pathOf(target: string): string {
  return decodeURIComponent(target.split('?', 1)[0] ?? '')
}

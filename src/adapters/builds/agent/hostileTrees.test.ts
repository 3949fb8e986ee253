import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectClear } from '../../../../test/cases/hostileSources/reasons.ts'
import { HOSTILE_TREES, type HostileTree } from '../../../../test/cases/hostileSources/trees.ts'
import { GitObjects } from '../../../../test/make/gitObjects.ts'
import type { Asked, PartPlayed } from '../../../../test/make/partsApart.ts'
import { parseTerminationMessage } from '../../../contracts/builds/pod.ts'

const HOST = join(import.meta.dirname, '../../../../test/node/builds/host.ts')
const PROGRAM = join(import.meta.dirname, '../../../../test/make/partsApart.ts')
/** Heap of the program alone: git runs in its own process. */
const MEMORY_MIB = 96
const CANARY = 'a-canary-that-nobody-reads'

/** Runs the first container of a build with a folder in place of its root. */
describe('fetching a hostile commit fails with a reason and changes no file outside of the build', () => {
  let above: string
  let host: ChildProcess
  let program: ChildProcess
  let url: string
  before(async () => {
    above = await mkdtemp(join(tmpdir(), 'freehold-commits-'))
    const git = new GitObjects(join(above, 'git/hostile.git'))
    for (const [at, { tree }] of HOSTILE_TREES.entries()) git.branch(`case-${at}`, git.tree(...tree(git)))
    host = spawn(process.execPath, [HOST, above, '127.0.0.1', '0'], { stdio: ['ignore', 'pipe', 'inherit'] })
    program = fork(PROGRAM, { execArgv: [`--max-old-space-size=${MEMORY_MIB}`] })
    const [ready] = host.stdout === null ? [] : await once(host.stdout, 'data')
    url = `http://127.0.0.1:${JSON.parse(String(ready)).port}/git/hostile.git`
  })
  after(async () => {
    host?.kill()
    program?.kill()
    await rm(above, { recursive: true, force: true })
  })

  async function play({ recipe, source }: HostileTree, at: number) {
    const below = join(above, `case-${at}`)
    const root = join(below, 'pod')
    for (const folder of ['run/build', 'work', 'dev', 'tmp']) await mkdir(join(root, folder), { recursive: true })
    await writeFile(join(below, 'canary.txt'), CANARY)
    await writeFile(join(root, 'run/build/git-credentials'), `https://build:${CANARY}@git.example.test\n`)
    const order = {
      source: { kind: 'Git', url, branch: `case-${at}`, ...source },
      recipe: { purpose: 'Service', rootPath: '/', port: 8080, variables: [], environmentVersion: '', ...recipe },
      settings: { registry: 'registry.example.test', isRegistryInsecure: false },
      canary: CANARY,
    }
    await writeFile(join(root, 'run/build/order.json'), JSON.stringify(order))
    const { log, status } = await run({ name: 'source', root })
    const last = await readFile(join(root, 'dev/termination-log'), 'utf8').catch(() => '')
    return { below, root, log, last, status }
  }

  async function run(request: Asked): Promise<PartPlayed> {
    const over = new AbortController()
    const answer = once(program, 'message', over)
    const ended = once(program, 'exit', over).then(() => Promise.reject(new Error('The program ended.')))
    program.send(request)
    try {
      return (await Promise.race([answer, ended]))[0]
    } finally {
      over.abort()
      await Promise.allSettled([answer, ended])
    }
  }

  for (const [at, one] of HOSTILE_TREES.entries()) {
    it(one.sentence, async () => {
      const { below, root, log, last, status } = await play(one, at)
      const { failure, message = '' } = parseTerminationMessage(last)
      expect(failure, `${message}\n${last}\n${log}`).to.equal(one.failure)
      expect(status).to.equal(1)
      expect(message).to.match(one.says)
      expectClear(message)
      expect(log + last).to.not.include(CANARY)
      expect(await readdir(below)).to.have.members(['canary.txt', 'pod'])
      expect(await readdir(root)).to.have.members(['dev', 'run', 'tmp', 'work'])
      expect(await readdir(join(root, 'run/build'))).to.have.members(['git-credentials', 'order.json'])
      expect(await readFile(join(below, 'canary.txt'), 'utf8')).to.equal(CANARY)
      await rm(below, { recursive: true })
    })
  }
})

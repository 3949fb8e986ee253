import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { makeRepository } from '../../../test/make/gitRepository.ts'
import { gitFilesContract } from '../../../test/suites/gitFilesContract.ts'
import { reasonOf } from '../../../test/suites/sourceContract.ts'
import { serveGit } from '../../../test/worlds/providers/gitBackend.ts'
import { OutgoingError } from '../outgoing/port.ts'
import { createGitFiles } from './client.ts'
import { FakeGitFiles } from './fake.ts'

const URL_OF_FAKE = 'https://git.example.com/acme/blueprints.git'

gitFilesContract('files of a repository in memory', async () => {
  const port = new FakeGitFiles()
  let count = 0
  return {
    port,
    place: { url: URL_OF_FAKE, ref: 'main', folder: '', credentials: { username: 'git', token: 'good' } },
    async push(branch, files) {
      count += 1
      port.push(URL_OF_FAKE, String(count).padStart(40, '0'), files, branch)
      Object.assign(port.repositories.get(URL_OF_FAKE) ?? {}, { token: 'good' })
      return String(count).padStart(40, '0')
    },
    async tag(name, branch) {
      const refs = port.repositories.get(URL_OF_FAKE)?.refs
      const head = refs?.get(branch)
      if (head !== undefined) refs?.set(name, head)
    },
  }
})

describe('files of a real repository', () => {
  let folder: string
  let server: Awaited<ReturnType<typeof serveGit>>
  const credentials = { username: 'git', token: 'good' }
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-files-'))
    server = await serveGit(folder, { username: 'git', password: 'good' })
  })
  after(async () => {
    await server.close()
    await rm(folder, { recursive: true, force: true })
  })
  const placeOf = (name: string) => ({ url: `${server.url}/${name}.git`, ref: 'main', folder: '', credentials })

  for (const canFilter of [true, false]) {
    gitFilesContract(
      `behind a git http-backend that ${canFilter ? 'leaves out files' : 'sends everything'}`,
      async () => {
        const name = canFilter ? 'partial' : 'whole'
        const { push, tag } = await makeRepository(folder, name, { canFilter })
        return { port: createGitFiles(server.fetch), place: placeOf(name), push, tag }
      },
    )
  }

  it('follow no link and no submodule, and read what git keeps as a change of something else', async () => {
    const { work, git, push, commit } = await makeRepository(folder, 'odd', { canFilter: false })
    const lines = Array.from({ length: 2000 }, (_, index) => `line ${index} of a long file`)
    await push('main', { 'a.yaml': lines.join('\n'), 'b.yaml': [...lines, 'one more'].join('\n') })
    await symlink('/etc/passwd', join(work, 'link.yaml'))
    await git('add', '--all')
    await git('update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},sub.yaml`)
    await commit('main')
    await git('-C', join(folder, 'odd.git'), 'gc', '--quiet')
    const { files } = await createGitFiles(server.fetch).read(placeOf('odd'))
    expect(files.map(({ path, content }) => `${path} ${content.split('\n').length}`)).to.deep.equal([
      'a.yaml 2000',
      'b.yaml 2001',
    ])
  })

  it('are of an empty repository, an address without one, or a host that is away: refused, with a reason', async () => {
    await makeRepository(folder, 'empty', { canFilter: true })
    const port = createGitFiles(server.fetch)
    expect(await reasonOf(port.read(placeOf('empty')))).to.equal('NotFound')
    const away = createGitFiles(() => Promise.reject(new OutgoingError('NotAllowed', 'no')))
    expect(await reasonOf(away.read(placeOf('empty')))).to.equal('NotAllowed')
    for (const said of ['', '<html>', '0009ver', 'ffff', '000eversion 1\n0000']) {
      const odd = createGitFiles(async () => new Response(said))
      expect(await reasonOf(odd.read(placeOf('empty'))), said).to.be.oneOf(['Unreachable', 'Unsupported'])
    }
    const moved = createGitFiles(async () => new Response(null, { status: 302 }))
    expect(await reasonOf(moved.read(placeOf('empty')))).to.equal('Unreachable')
  })
})

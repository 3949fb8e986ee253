import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { listUploadFiles, packFolder } from './archive.ts'

describe('listUploadFiles', () => {
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-archive-'))
    for (const path of ['index.js', '.env', 'node_modules/a/index.js', 'web/node_modules/b/index.js']) {
      await mkdir(dirname(join(folder, path)), { recursive: true })
      await writeFile(join(folder, path), path)
    }
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  const git = (...words: string[]) => execFileSync('git', ['-C', folder, ...words], { stdio: 'ignore' })

  it('lists everything except node_modules in a folder without Git', async () => {
    expect((await listUploadFiles(folder, process.env)).sort()).to.deep.equal(['.env', 'index.js'])
  })

  it('lists the same files in a Git repository without .gitignore, before and after `git add`', async () => {
    git('init')
    expect((await listUploadFiles(folder, process.env)).sort()).to.deep.equal(['.env', 'index.js'])
    git('add', '.')
    expect((await listUploadFiles(folder, process.env)).sort(), 'committed').to.deep.equal(['.env', 'index.js'])
  })

  it('leaves out files that Git ignores', async () => {
    git('init')
    await writeFile(join(folder, '.gitignore'), '.env\n')
    expect((await listUploadFiles(folder, process.env)).sort()).to.deep.equal(['.gitignore', 'index.js'])
  })

  it('lists the given folder although a Git hook sets GIT_DIR and GIT_INDEX_FILE', async () => {
    git('init')
    await writeFile(join(folder, '.gitignore'), '.env\n')
    await mkdir(join(folder, 'web/site'))
    await writeFile(join(folder, 'web/site/.env'), 'a secret')
    await writeFile(join(folder, 'web/site/index.html'), '')
    const ofHook = {
      ...process.env,
      GIT_DIR: join(folder, '.git'),
      GIT_INDEX_FILE: join(folder, '.git/index'),
      GIT_PREFIX: '',
    }
    expect(await listUploadFiles(join(folder, 'web/site'), ofHook)).to.deep.equal(['index.html'])
  })

  it('runs no command that core.fsmonitor of the repository or of a nested one names', async () => {
    git('init')
    const library = join(folder, 'library')
    execFileSync('git', ['init', library], { stdio: 'ignore' })
    for (const repository of [folder, library])
      execFileSync('git', ['-C', repository, 'config', 'core.fsmonitor', `touch ${join(folder, 'pwned')}; false`])
    await listUploadFiles(folder, process.env)
    expect(existsSync(join(folder, 'pwned'))).to.equal(false)
  })

  for (const [sentence, settings] of [
    ['core.sshCommand', { 'remote.origin.url': 'ssh://nowhere/x', 'core.sshCommand': 'touch PWNED; false' }],
    ['remote.origin.uploadpack', { 'remote.origin.url': '/nowhere', 'remote.origin.uploadpack': 'touch PWNED; false' }],
  ] as const)
    it(`runs no command to fetch objects that a partial clone lacks: ${sentence}`, async () => {
      const said = (...words: string[]) => execFileSync('git', ['-C', folder, ...words], { encoding: 'utf8' }).trim()
      git('init')
      await writeFile(join(folder, '.gitignore'), '*.log\n')
      git('add', '.gitignore')
      git('update-index', '--skip-worktree', '.gitignore')
      const id = said('rev-parse', ':.gitignore')
      await rm(join(folder, '.gitignore'))
      await rm(join(folder, '.git/objects', id.slice(0, 2)), { recursive: true })
      const partial = { 'core.repositoryformatversion': '1', 'extensions.partialClone': 'origin' }
      for (const [name, value] of Object.entries({ ...partial, 'remote.origin.promisor': 'true', ...settings }))
        git('config', name, value.replace('PWNED', join(folder, 'pwned')))
      await listUploadFiles(folder, process.env)
      expect(existsSync(join(folder, 'pwned'))).to.equal(false)
    })

  it('lists each file once during a merge conflict', async () => {
    const commit = async (content: string, ...words: string[]) => {
      await writeFile(join(folder, 'index.js'), content)
      git('-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '--all', '--message', content, ...words)
    }
    git('init', '--initial-branch=main')
    git('add', 'index.js')
    await commit('first')
    git('switch', '--create', 'other')
    await commit('theirs')
    git('switch', 'main')
    await commit('ours')
    expect(() => git('-c', 'user.name=a', '-c', 'user.email=a@example.com', 'merge', 'other')).to.throw()
    expect((await listUploadFiles(folder, process.env)).sort()).to.deep.equal(['.env', 'index.js'])
  })

  describe('with a nested repository', () => {
    const inner = (...words: string[]) => git('-C', join(folder, 'library'), ...words)
    beforeEach(async () => {
      git('init')
      await mkdir(join(folder, 'library'))
      await writeFile(join(folder, 'library', '.gitignore'), 'built\n')
      await writeFile(join(folder, 'library', 'built'), '')
      await writeFile(join(folder, 'library', 'code.js'), '')
      inner('init')
      inner('add', '.')
      inner('-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '--message', 'first')
    })
    const all = ['.env', 'index.js', 'library/.gitignore', 'library/code.js']

    it('lists the files of the nested repository that Git does not ignore', async () => {
      expect((await listUploadFiles(folder, process.env)).sort()).to.deep.equal(all)
    })

    it('lists the same files if the folder itself is not a repository', async () => {
      await rm(join(folder, '.git'), { recursive: true })
      expect((await listUploadFiles(folder, process.env)).sort()).to.deep.equal(all)
    })

    it('lists the same files of a submodule', async () => {
      git('add', 'library')
      expect((await listUploadFiles(folder, process.env)).sort()).to.deep.equal(all)
    })

    it('fails if a submodule is not checked out', async () => {
      git('add', 'library')
      await rm(join(folder, 'library'), { recursive: true })
      await mkdir(join(folder, 'library'))
      const failure = await packFolder(folder, process.env).catch((error: Error) => error)
      expect((failure as Error).message).to.match(/library is not there.*git submodule update --init/)
    })
  })

  it('fails if Git ignores the whole folder', async () => {
    git('init')
    await writeFile(join(folder, '.gitignore'), 'web\n')
    await writeFile(join(folder, 'web', 'index.html'), '')
    const failure = await packFolder(join(folder, 'web'), process.env).catch((error: Error) => error)
    expect((failure as Error).message).to.match(/^Git ignores the folder .*web, so nothing of it is sent/)
  })

  it('fails if Git cannot read its index', async () => {
    git('init')
    await writeFile(join(folder, '.gitignore'), '.env\n')
    await writeFile(join(folder, '.git', 'index'), 'no index')
    const failure = await packFolder(folder, process.env).catch((error: Error) => error)
    expect(failure).to.be.instanceOf(Error)
    expect((failure as Error).message).to.match(/^Git does not say which files of .* are to be sent\. .*index/)
  })
})

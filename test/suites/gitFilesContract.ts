import { expect } from 'chai'
import type { FilesPlace, GitFiles } from '../../src/adapters/gitfiles/port.ts'
import { SOURCE_BYTES, TEMPLATE_BYTES, TEMPLATES_OF_A_SOURCE } from '../../src/contracts/blueprints/repository.ts'
import type { Content } from '../make/gitRepository.ts'
import { reasonOf } from './sourceContract.ts'

export type GitFilesWorld = {
  readonly port: GitFiles
  /** A repository that whoever has the token reads. */
  readonly place: FilesPlace & { readonly credentials: { readonly username: string; readonly token: string } }
  /** Makes the branch hold these files and no others; its new commit. */
  push(branch: string, files: Content): Promise<string>
  tag(name: string, branch: string): Promise<void>
}

/** What whoever reads files of templates promises. */
export function gitFilesContract(title: string, open: () => Promise<GitFilesWorld>): void {
  describe(title, () => {
    let world: GitFilesWorld
    before(async () => {
      world = await open()
    })
    const read = (change: Partial<FilesPlace> = {}) => world.port.read({ ...world.place, ...change })
    const pathsOf = async (change: Partial<FilesPlace> = {}) => (await read(change)).files.map(({ path }) => path)

    it('reads the files of templates with what is in them, and says which commit they are of', async () => {
      const revision = await world.push('main', {
        'web.yaml': 'a: 1\n',
        'data.json': '{}',
        'läuft.yml': 'ä',
        'x.md': '',
      })
      expect(await read()).to.deep.equal({
        revision,
        files: [
          { path: 'data.json', content: '{}' },
          { path: 'läuft.yml', content: 'ä' },
          { path: 'web.yaml', content: 'a: 1\n' },
        ],
        unread: [],
      })
    })

    it('reads below a folder alone, at every depth, and nothing of hidden folders there', async () => {
      const files = {
        'top.yaml': '1',
        'a/b/c/deep.yaml': '2',
        'a/one.yaml': '3',
        'ab/no.yaml': '4',
        'a/.ci/x.yml': '5',
      }
      await world.push('folders', files)
      expect(await pathsOf({ ref: 'folders', folder: 'a' })).to.deep.equal(['a/b/c/deep.yaml', 'a/one.yaml'])
      expect(await pathsOf({ ref: 'folders', folder: 'a/.ci' })).to.deep.equal(['a/.ci/x.yml'])
      expect(await reasonOf(read({ ref: 'folders', folder: 'b' }))).to.equal('NotFound')
      expect(await reasonOf(read({ ref: 'folders', folder: '../a' }))).to.equal('NotFound')
    })

    it('reads branches and tags, also after they have moved, and says which are not there', async () => {
      await world.push('moving', { 'a.yaml': 'old' })
      await world.tag('v1', 'moving')
      await world.push('moving', { 'a.yaml': 'new' })
      expect((await read({ ref: 'moving' })).files[0]?.content).to.equal('new')
      expect((await read({ ref: 'v1' })).files[0]?.content).to.equal('old')
      expect(await reasonOf(read({ ref: 'mov' }))).to.equal('NotFound')
      expect(await reasonOf(read({ ref: '0'.repeat(40) }))).to.equal('NotFound')
    })

    it('lets in who has the credentials, and nobody else', async () => {
      const { credentials: _, ...place } = world.place
      expect(await reasonOf(world.port.read(place))).to.equal('CredentialRejected')
      const wrong = { username: 'git', token: 'wrong' }
      expect(await reasonOf(read({ credentials: wrong }))).to.equal('CredentialRejected')
      expect(await reasonOf(read({ url: `${world.place.url}x` }))).to.equal('NotFound')
    })

    it('leaves out what is too long, too much or no text, and says so of each', async () => {
      const many = Object.fromEntries(
        Array.from({ length: TEMPLATES_OF_A_SOURCE + 1 }, (_, index) => [`f${index + 100}.yaml`, `${index}`]),
      )
      await world.push('many', {
        ...many,
        'a-long.yaml': 'x'.repeat(TEMPLATE_BYTES + 1),
        'b-binary.yaml': Uint8Array.of(0xff, 0xfe),
        'c-empty.yaml': '',
      })
      const { files, unread } = await read({ ref: 'many' })
      expect(files).to.have.length(TEMPLATES_OF_A_SOURCE)
      expect(unread.map(({ path, why }) => `${path} ${why.split(' ').slice(0, 3).join(' ')}`)).to.deep.equal([
        'a-long.yaml has more than',
        'b-binary.yaml is not text',
        'c-empty.yaml is empty',
        'f150.yaml is one more',
      ])
      const full = Array.from({ length: 9 }, (_, index) => [`f${index}.yaml`, String(index).repeat(TEMPLATE_BYTES)])
      await world.push('full', Object.fromEntries(full))
      const { files: fitting, unread: left } = await read({ ref: 'full' })
      expect(fitting).to.have.length(SOURCE_BYTES / TEMPLATE_BYTES)
      expect(left.map(({ path }) => path)).to.deep.equal(['f8.yaml'])
    })
  })
}

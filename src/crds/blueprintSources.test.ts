import { expect } from 'chai'
import { normalizeFolder } from '../contracts/blueprints/sources.ts'
import { FolderPath } from './blueprintSources.ts'

const TAKEN: readonly [written: string, folder: string][] = [
  ['/', '/'],
  ['./', '/'],
  ['/blueprints', '/blueprints'],
  ['blueprints', '/blueprints'],
  ['./blueprints/', '/blueprints'],
  ['/our blueprints/for all', '/our blueprints/for all'],
  ['/.github/blueprints', '/.github/blueprints'],
  ['/..hidden/...', '/..hidden/...'],
  ['/Entwürfe/ünï', '/Entwürfe/ünï'],
]
const REFUSED = [
  '',
  '.',
  '..',
  '/..',
  '../shop',
  '/a/../b',
  '/a/./b',
  '/a/.',
  '//a',
  '/a//b',
  '/a\tb',
  '/a\n',
  '/\u0085',
]

describe('FolderPath and normalizeFolder', () => {
  for (const [written, folder] of TAKEN)
    it(`accept ${JSON.stringify(written)} as ${folder}`, () => {
      expect(FolderPath.safeParse(written).success).to.equal(true)
      expect(normalizeFolder(written)).to.equal(folder)
      expect(normalizeFolder(folder)).to.equal(folder)
    })

  for (const written of REFUSED)
    it(`reject ${JSON.stringify(written)}, normalized or not`, () => {
      expect(FolderPath.safeParse(written).success).to.equal(false)
      if (written !== '') expect(FolderPath.safeParse(normalizeFolder(written)).success).to.equal(false)
    })
})

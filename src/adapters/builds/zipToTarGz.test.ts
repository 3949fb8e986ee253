import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect } from 'chai'
import { ZipFile } from 'yazl'
import { unpack } from './unpack.ts'
import { convertZipToTarGz } from './zipToTarGz.ts'

async function zipOf(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const zip = new ZipFile()
  for (const [path, text] of Object.entries(files)) zip.addBuffer(Buffer.from(text), path)
  zip.end()
  return buffer(zip.outputStream)
}

describe('convertZipToTarGz', () => {
  const files = { 'index.mjs': 'export default 1', 'lib/deep/er.js': 'x'.repeat(200_000), 'empty.txt': '' }

  it('returns a tar.gz of the same files that unpack accepts', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'freehold-zipped-'))
    try {
      const unpacked = await unpack(convertZipToTarGz(await zipOf(files)), folder)
      expect(unpacked.files).to.equal(3)
      for (const [path, text] of Object.entries(files))
        expect(await readFile(join(folder, path), 'utf8')).to.equal(text)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })

  it('returns the same bytes for the same files', async () => {
    const zip = await zipOf(files)
    expect((await buffer(convertZipToTarGz(zip))).equals(await buffer(convertZipToTarGz(zip)))).to.equal(true)
  })

  it('fails for input that is not a zip', async () => {
    const failed = await buffer(convertZipToTarGz(Buffer.from('no zip'))).catch((error: unknown) => error)
    expect(failed).to.be.instanceOf(Error)
  })
})

import { createReadStream } from 'node:fs'
import { sourceArchives } from '../../../src/adapters/builds/archives.ts'

/**
 * Stores an archive in a registry without authentication. A separate process, because sockets belong to the network of
 * theirs.
 */
const [url = '', repository = '', file = ''] = process.argv.slice(2)

const { reference } = await sourceArchives({ url, tokenFor: async () => 'none' }).keep(
  repository,
  createReadStream(file),
)
process.stdout.write(reference)

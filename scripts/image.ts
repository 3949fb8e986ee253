import { resolve } from 'node:path'
import { endWith, parsed, UsageError } from './commandLine.ts'
import { createProgress } from './controlplane/index.ts'
import { REGISTRY } from './node/addresses.ts'
import { packageImage, pushInto } from './node/images.ts'
import { runningNamespaces } from './node/namespaces.ts'

const USAGE = `Usage: npm run image -- NAME:TAG --package PACKAGE... [options] [-- COMMAND...]
Makes an image of Debian packages, without a container daemon, and puts it into the registry of the node, which stands
for all registries there: library/nginx:1 is what docker.io/library/nginx:1 asks for.
  --package PACKAGE   a package of Debian, with all it depends on; may be given more than once
  --layer DIR         a folder that is laid over the packages; may be given more than once
  --user USER         the user that the command runs as (default 65532:65532)
  --port PORT         a port that the command listens on
  --data DIR          the data folder that "npm run up" was given (default .freehold)`

try {
  process.stdout.write(`${await main(process.argv.slice(2))}\n`)
} catch (error) {
  endWith(error)
}

async function main(words: readonly string[]): Promise<string> {
  const options = {
    package: { type: 'string', multiple: true },
    layer: { type: 'string', multiple: true },
    user: { type: 'string', default: '65532:65532' },
    port: { type: 'string' },
    data: { type: 'string', default: '.freehold' },
  } as const
  const { values, positionals } = parsed(words, USAGE, options, true)
  const { package: packages = [], layer: folders = [] } = values
  const [name = '', ...command] = positionals
  if (!/^[a-z0-9]+(?:[./_-][a-z0-9]+)*:[\w][\w.-]{0,127}$/.test(name) || packages.length === 0) {
    throw new UsageError(USAGE)
  }
  const node = await runningNamespaces(resolve(values.data))
  if (node === undefined) throw new Error(`No node runs on ${values.data}: start one with "npm run up -- --node".`)
  const ports = values.port === undefined ? {} : { ExposedPorts: { [`${values.port}/tcp`]: {} } }
  const config = { User: values.user, ...(command.length === 0 ? {} : { Cmd: command }), ...ports }
  const search = { progress: createProgress(process.stderr), signal: undefined }
  const layers = folders.map((folder) => resolve(folder))
  await pushInto(node, [await packageImage({ name, packages, layers, config }, search)])
  return `${REGISTRY}/${name}`
}

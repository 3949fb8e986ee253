import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ownWords } from './commandLine.ts'
import { generatedFiles } from './generate/files.ts'

/** Folders that contain only generated files: anything else in them is removed. */
const GENERATED_FOLDERS = ['deploy/crds', 'deploy/helm/freehold/templates', 'docs/reference/kinds']
const root = join(import.meta.dirname, '..')

const USAGE = `Usage: npm run generate -- [options]
Writes what is derived from the declarations.
  --check  write nothing, name each file that differs, and end with status 1 if any does`

function main(): void {
  const { check: checkOnly } = ownWords(USAGE, { check: { type: 'boolean', default: false } }).values
  const files = generatedFiles()
  const stale = GENERATED_FOLDERS.filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) => readdirSync(join(root, folder)).map((name) => `${folder}/${name}`))
    .filter((path) => !files.has(path))
  const changed = [...files].filter(
    ([path, content]) => !existsSync(join(root, path)) || readFileSync(join(root, path), 'utf8') !== content,
  )
  if (checkOnly) {
    for (const path of [...changed.map(([path]) => path), ...stale])
      console.error(`${path} is not what the declarations say; run \`npm run generate\`.`)
    process.exitCode = changed.length + stale.length > 0 ? 1 : 0
    return
  }
  for (const path of stale) rmSync(join(root, path))
  for (const [path, content] of changed) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content)
  }
  console.log(`${files.size} files, ${changed.length} written, ${stale.length} removed.`)
}

try {
  main()
} catch (error) {
  console.error(error)
  console.error('Does a declaration not fit its type? "types" of `npm run check` names it.')
  process.exitCode = 1
}

import { spawn } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** Test files of which `npm test` runs a sample, or in which it gives promises more time than the platform does. */
function sampledFiles(): string[] {
  return ['src', 'test']
    .flatMap((folder) => globSync(`${folder}/**/*.test.ts`, { cwd: root }))
    .filter((file) => isSampled(file))
    .sort()
}

/** Says so itself, or runs a suite that does. */
function isSampled(file: string): boolean {
  const text = readFileSync(join(root, file), 'utf8')
  if (/TEST_CONFIG\.sized\(|promised\(/.test(text)) return true
  const suites = [...text.matchAll(/from '[./]+\/(suites\/\w+\.ts)'/g)]
  return suites.some(([, suite = '']) => isSampled(join('test', suite)))
}

/** Runs them in full, as `TEST_CONFIG` reads from the environment. @returns the exit status */
export function playFullSeries(): Promise<number> {
  const child = spawn(process.execPath, [join(root, 'scripts/test.ts'), ...sampledFiles()], {
    stdio: 'inherit',
  })
  return new Promise((done, fail) => child.once('error', fail).once('exit', (code) => done(code ?? 1)))
}

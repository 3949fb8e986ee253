import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import { SERVED_ROUTES } from '../../src/api/index.ts'

const ROOT = resolve(import.meta.dirname, '../..')

/** A path in which parameter names and placeholders are equal. */
const shapeOf = (path: string) =>
  path
    .replace(/\?.*$/, '')
    .replaceAll('{RG}', '/boundaries/{}/resourcegroups/{}/resources')
    .replaceAll('{B}', '/boundaries/{}')
    .replaceAll(/\{\w*\}|<[^>/]*>/g, '{}')

const known = SERVED_ROUTES.map(({ method, path }) => `${method} ${shapeOf(path)}`)

/** Requests on a page: `GET {RG}/jobs/{jobName}`. Those that start with dots omit a prefix given above. */
function requestsIn(page: string): string[] {
  const text = readFileSync(join(ROOT, page), 'utf8').replaceAll(/```[\s\S]*?```/g, '')
  return [...text.matchAll(/`(GET|POST|PUT|PATCH|DELETE) ([/{][^` ]*)`/g)].map(
    ([, method, path = '']) => `${method} ${shapeOf(path)}`,
  )
}

/** A segment may be the value of a parameter, and a page may describe all kinds at once. */
function isServed(request: string): boolean {
  const words = request.split('/')
  return known.some((row) => {
    const own = row.split('/')
    return (
      own.length === words.length && own.every((part, at) => part === words[at] || part === '{}' || words[at] === '{}')
    )
  })
}

describe('requests on documentation pages', () => {
  it('exist in the route table', () => {
    const pages = globSync('docs/**/*.md', { cwd: ROOT }).filter((path) => !path.includes('adr/'))
    const all = pages.flatMap((page) => requestsIn(page).map((request) => ({ page, request })))
    expect(all.length).to.be.greaterThan(100)
    // Pages that abbreviate a long prefix start their requests with its name.
    const whole = all.filter(({ request }) => / \//.test(request))
    const wrong = whole.filter(({ request }) => !isServed(request)).map(({ page, request }) => `${page}: ${request}`)
    expect(wrong).to.deep.equal([])
  })
})

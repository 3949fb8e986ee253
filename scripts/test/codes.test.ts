import { expect } from 'chai'
import { shownAs } from '../../src/api/http/problem.ts'
import { SERVED_ROUTES } from '../../src/api/index.ts'
import { ERROR_STATUS, type ErrorCode } from '../../src/core/errors.ts'
import { DOCUMENTED_CODES, missingCodes } from './codes.ts'

describe('DOCUMENTED_CODES and missingCodes', () => {
  it('contain only served routes and existing codes', () => {
    const routes = new Set(SERVED_ROUTES.map(({ method, path }) => `${method} ${path}`))
    for (const [route, codes] of Object.entries(DOCUMENTED_CODES)) {
      expect(routes.has(route), route).to.equal(true)
      const { errors } = SERVED_ROUTES.find(({ method, path }) => `${method} ${path}` === route) ?? {
        errors: 'platform',
      }
      const shown = (Object.keys(ERROR_STATUS) as ErrorCode[]).map((code) => shownAs(errors, code).code)
      for (const code of codes) expect(shown, route).to.include(code)
    }
  })

  it('contain a code until a request of its route received it', () => {
    const all = missingCodes('')
    expect(all).to.include('POST /admin/tenants already_exists')
    const seen = 'POST /admin/tenants already_exists\nPOST /admin/boundary-trusts conflict\n'
    expect(missingCodes(seen)).to.deep.equal(all.filter((one) => one !== 'POST /admin/tenants already_exists'))
  })
})

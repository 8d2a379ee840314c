/*
 * demangle_test - names from the public specifications (Itanium C++ ABI, Rust RFC 2603) and from compilers
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "analyse/demangle.h"
#include "base/util.h"

static char out[DEMANGLE_BYTES];

static void expect(const char *symbol, const char *readable)
{
	demangle(symbol, out);
	assert_string_equal(out, readable);
}

static void a_c_name_stays_as_it_is(void **state)
{
	expect("main", "main");
	expect("_start", "_start");
	expect("operator.new", "operator.new");
	expect("", "");
	expect("_", "_");
	expect("_R", "_R");
	expect("_Z", "_Z");
}

static void a_version_is_dropped(void **state)
{
	expect("malloc@@GLIBC_2.2.5", "malloc");
	expect("memcpy@GLIBC_2.14", "memcpy");
	expect("_ZNSt6thread4joinEv@@GLIBCXX_3.4.11", "std::thread::join()");
}

static void marks_of_parts_and_copies_are_dropped(void **state)
{
	expect("parse.cold", "parse");
	expect("parse.part.0", "parse");
	expect("parse.isra.12", "parse");
	expect("parse.constprop.0.isra.3.cold", "parse");
	expect("_Z3fooi.constprop.0", "foo(int)");
	expect("static_name.lto_priv.7", "static_name");
	expect("_RNvC1a3foo.llvm.123456", "a::foo");
}

static void other_dots_are_kept(void **state)
{
	expect("parse.colder", "parse.colder");
	expect("main.run", "main.run");
	expect("a.cold.b", "a.cold.b");
	expect("parse.5", "parse.5");
}

static void cxx_names_are_readable(void **state)
{
	expect("_ZN3foo3barEv", "foo::bar()");
	expect("_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back(int&&)");
	expect("_Znwm", "operator new(unsigned long)");
	expect("_ZN12_GLOBAL__N_13runEPKc", "(anonymous namespace)::run(char const*)");
	expect("_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const");
}

static void a_broken_cxx_name_stays_as_it_is(void **state)
{
	expect("_ZN3foo", "_ZN3foo");
	expect("_ZN99foo3barEv", "_ZN99foo3barEv");
}

static void legacy_rust_names_lose_their_hash(void **state)
{
	expect("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
	expect("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE.llvm.1", "core::fmt::Formatter::pad");
}

static void signs_of_legacy_rust_names_are_read(void **state)
{
	expect("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE",
	       "<Test + 'static as foo::Bar<Test>>::bar");
	expect("_ZN9$RF$testA17h0123456789abcdefE", "&testA");
	expect("_ZN35Bar$LT$$u5b$u32$u3b$$u20$4$u5d$$GT$17h0123456789abcdefE", "Bar<[u32; 4]>");
}

static void a_cxx_name_is_not_taken_for_rust(void **state)
{
	expect("_ZN3foo17h0123456789abcdefEi", "foo::h0123456789abcdef(int)");
	expect("_ZN3foo17hXX23456789abcdefE", "foo::hXX23456789abcdef");
}

/* Of RFC 2603's examples: paths, impls, generics, closures, back references. */
static void v0_paths_are_read(void **state)
{
	expect("_RNvC6_123foo3bar", "123foo::bar");
	expect("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar");
	expect("_RNvMs_Cs4Cv8Wi1oAIB_7mycrateNtB4_7Example3foo", "<mycrate::Example>::foo");
	expect("_RINvNtC3std3mem8align_ofjE", "std::mem::align_of::<usize>");
	expect("_RNCC4main4main", "main::{closure:main#0}");
	expect("_RNCNvC4main4main0B3_", "main::main::{closure#0}");
	expect("_RNvXCs5l0EXMQXRMU_21rustc_data_structuresNtB2_7FromStrNtC4core5Debug3fmt",
	       "<rustc_data_structures::FromStr as core::Debug>::fmt");
	expect("_RNvYjNtC4core3Ord3max", "<usize as core::Ord>::max");
	expect("_RINvC1a1fmhE", "a::f::<u32, u8>");
}

static void v0_closures_are_numbered(void **state)
{
	expect("_RNCNvC1a4main0", "a::main::{closure#0}");
	expect("_RNCNvC1a4mains_0", "a::main::{closure#1}");
	expect("_RNCNvC1a4mains0_0", "a::main::{closure#2}");
}

static void v0_types_are_read(void **state)
{
	expect("_RINvC1a1fRhE", "a::f::<&u8>");
	expect("_RINvC1a1fQShE", "a::f::<&mut [u8]>");
	expect("_RINvC1a1fAhj3_E", "a::f::<[u8; 3]>");
	expect("_RINvC1a1fThEE", "a::f::<(u8,)>");
	expect("_RINvC1a1fTEE", "a::f::<()>");
	expect("_RINvC1a1fTmeEE", "a::f::<(u32, str)>");
	expect("_RINvC1a1fPhOhE", "a::f::<*const u8, *mut u8>");
	expect("_RINvC1a1fFEuE", "a::f::<fn()>");
	expect("_RINvC1a1fFUKCOhEdE", "a::f::<unsafe extern \"C\" fn(*mut u8) -> f64>");
	expect("_RINvC1a1fFG_RL0_hEuE", "a::f::<for<'a> fn(&'a u8)>");
	expect("_RINvC1a1fDNtC1b2FnNtC1b4SendEL_E", "a::f::<dyn b::Fn + b::Send>");
	expect("_RINvC1a1fDNtC1b4Iterp4ItemmEL_E", "a::f::<dyn b::Iter<Item = u32>>");
}

static void v0_constants_are_read(void **state)
{
	expect("_RINvC1a1fKj3_E", "a::f::<3>");
	expect("_RINvC1a1fKin7_E", "a::f::<-7>");
	expect("_RINvC1a1fKb1_E", "a::f::<true>");
	expect("_RINvC1a1fKc27_E", "a::f::<'\\''>");
	expect("_RINvC1a1fKc78_E", "a::f::<'x'>");
	expect("_RINvC1a1fKpE", "a::f::<_>");
	expect("_RINvC1a1fKo11111111111111111_E", "a::f::<0x11111111111111111>");
}

static void v0_identifiers_in_punycode_are_read(void **state)
{
	expect("_RNvC1au8gdel_5qa", "a::g\xc3\xb6" "del");
	expect("_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
	       "utf8_idents::\xe1\x83\xa1\xe1\x83\x90\xe1\x83\xad\xe1\x83\x9b\xe1\x83\x94\xe1\x83\x9a\xe1\x83\x90\xe1\x83\x93"
	       "_\xe1\x83\x92\xe1\x83\x94\xe1\x83\x9b\xe1\x83\xa0\xe1\x83\x98\xe1\x83\x94\xe1\x83\x9a\xe1\x83\x98"
	       "_\xe1\x83\xa1\xe1\x83\x90\xe1\x83\x93\xe1\x83\x98\xe1\x83\x9a\xe1\x83\x98");
}

static void a_broken_v0_name_stays_as_it_is(void **state)
{
	static const char *const broken[] = {
		"_RNvC1a", "_RNvC9a3foo", "_RB_", "_RNvB0_3foo", "_RINvC1a1f", "_RINvC1a1fKb2_E", "_R1NvC1a1f",
		"_RNvC1a1f rest", "_RINvC1a1fKcd800_E", "_RNvC1au3a_!", "_RINvC1a1fRL5_hE", "_RNvC1a99999999999999999999f",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(broken); i++)
		expect(broken[i], broken[i]);
}

static void a_v0_name_nested_too_deep_stays_as_it_is(void **state)
{
	char name[4000] = "_RINvC1a1f";
	size_t i;

	for (i = strlen(name); i < sizeof(name) - 3; i++)
		name[i] = 'R';
	strcpy(name + i, "hE");
	expect(name, name);
}

/* (T, T) where T is (T', T') ...: each level doubles what is written, by references to the level before. */
static void a_v0_name_that_would_fill_the_memory_stays_as_it_is(void **state)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[2000] = "_RINvC1a1fThhE";
	size_t len = strlen(name), level = strlen("INvC1a1f"), i;

	for (i = 0; i < 40; i++) {
		size_t here = len - 2, hi = (level - 1) / 62, lo = (level - 1) % 62;

		len += (size_t)snprintf(name + len, sizeof(name) - len, "TB%c%c_B%c%c_E", digits[hi], digits[lo], digits[hi],
					digits[lo]);
		level = here;
		if (i == 3) {
			char small[sizeof(name) + 2];

			snprintf(small, sizeof(small), "%sE", name);
			demangle(small, out);
			assert_non_null(strstr(out, "(((((u8, u8), (u8, u8)), ((u8, u8), (u8, u8)))"));
		}
	}
	strcat(name, "E");
	expect(name, name);
}

/* S0_ is pair<int, int>, S1_ is S_<S0_, S0_>, and so on. */
static void a_cxx_name_that_would_fill_the_memory_stays_as_it_is(void **state)
{
	char name[1000] = "_Z1f1PIiiE", last[] = "S0_";
	size_t len = strlen(name), i;

	for (i = 0; i < 30; i++) {
		len += (size_t)snprintf(name + len, sizeof(name) - len, "S_I%s%sE", last, last);
		last[1] = (char)(last[1] == '9' ? 'A' : last[1] + 1);
		if (i == 1) {
			demangle(name, out);
			assert_string_equal(out, "f(P<int, int>, P<P<int, int>, P<int, int> >, P<P<P<int, int>, P<int, int> >, "
						 "P<P<int, int>, P<int, int> > >)");
		}
	}
	expect(name, name);
}

static void a_long_name_is_cut_at_the_bound(void **state)
{
	static char name[3 * DEMANGLE_BYTES];

	memset(name, 'a', sizeof(name) - 1);
	demangle(name, out);
	assert_int_equal(strlen(out), DEMANGLE_BYTES - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_c_name_stays_as_it_is),
		cmocka_unit_test(a_version_is_dropped),
		cmocka_unit_test(marks_of_parts_and_copies_are_dropped),
		cmocka_unit_test(other_dots_are_kept),
		cmocka_unit_test(cxx_names_are_readable),
		cmocka_unit_test(a_broken_cxx_name_stays_as_it_is),
		cmocka_unit_test(legacy_rust_names_lose_their_hash),
		cmocka_unit_test(signs_of_legacy_rust_names_are_read),
		cmocka_unit_test(a_cxx_name_is_not_taken_for_rust),
		cmocka_unit_test(v0_paths_are_read),
		cmocka_unit_test(v0_closures_are_numbered),
		cmocka_unit_test(v0_types_are_read),
		cmocka_unit_test(v0_constants_are_read),
		cmocka_unit_test(v0_identifiers_in_punycode_are_read),
		cmocka_unit_test(a_broken_v0_name_stays_as_it_is),
		cmocka_unit_test(a_v0_name_nested_too_deep_stays_as_it_is),
		cmocka_unit_test(a_v0_name_that_would_fill_the_memory_stays_as_it_is),
		cmocka_unit_test(a_cxx_name_that_would_fill_the_memory_stays_as_it_is),
		cmocka_unit_test(a_long_name_is_cut_at_the_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

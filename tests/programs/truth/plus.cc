/* plus.cc - containers, strings, streams, exceptions, threads one after another, and each form of new */
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

struct alignas(64) Line {
	char bytes[128];
};

struct Node {
	std::string name;
	std::vector<std::unique_ptr<Node>> children;
};

static std::unique_ptr<Node> grow(int depth, unsigned &state)
{
	auto node = std::make_unique<Node>();

	state = state * 1103515245u + 12345u;
	node->name = std::string(state >> 16 & 63, 'x') + std::to_string(state);
	for (int i = 0; depth && i < 4; i++)
		node->children.push_back(grow(depth - 1, state));
	return node;
}

static int thrown(int depth)
{
	std::string here = "a string longer than what lies inside the object " + std::to_string(depth);

	if (!depth)
		throw std::runtime_error(here);
	return thrown(depth - 1) + static_cast<int>(here.size());
}

int main()
{
	unsigned state = 1;
	auto tree = grow(5, state);
	std::map<std::string, std::vector<int>> ordered;
	std::unordered_map<std::string, std::set<int>> hashed;
	std::ostringstream text;
	int caught = 0;

	for (int i = 0; i < 3000; i++) {
		ordered["key number " + std::to_string(i * 7919 % 501)].push_back(i);
		hashed["another key, number " + std::to_string(i * 104729 % 777)].insert(i % 19);
	}
	for (auto &[key, values] : ordered)
		text << key << ':' << values.size() << '\n';
	for (int i = 0; i < 200; i++) {
		try {
			thrown(i % 20);
		} catch (const std::exception &e) {
			caught += static_cast<int>(std::string(e.what()).size());
		}
	}
	for (int i = 1; i < 100; i++) {
		auto *array = new std::string[i];
		auto *line = new Line, *lines = new Line[i];
		auto *quiet = new (std::nothrow) double[i];

		delete[] array;
		delete line;
		delete[] lines;
		if (i % 2)
			delete[] quiet;
	}
	std::function<int(int)> late = [text = text.str(), caught](int i) { return static_cast<int>(text.size()) + caught + i; };
	std::string matched = std::regex_replace(text.str(), std::regex("number ([0-9]+)"), "<$1>");
	std::printf("%d %zu %zu %zu\n", late(1), ordered.size(), hashed.size(), matched.size());
	return 0;
}
